//! Decoding of good, odd and hostile files.

use image::{ImageFormat, Rgb, RgbImage};
use lodge_contract::pictures::files;
use lodge_domain::{
    Error,
    accounts::{Picture, PictureSize, Shape},
};
use lodge_pictures::decode;

const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];
const YELLOW: [u8; 3] = [255, 255, 0];
const WHITE: [u8; 3] = [255, 255, 255];
const BLACK: [u8; 3] = [0, 0, 0];

fn squares(upload: &[u8]) -> Result<Picture, Error> {
    decode(upload, Shape::Square)
}

fn opened(picture: &Picture, size: PictureSize) -> RgbImage {
    let bytes = picture.of(size).unwrap();
    image::load_from_memory_with_format(bytes, ImageFormat::Jpeg).unwrap().into_rgb8()
}

/// Both sizes, decoded.
fn seen(upload: &[u8]) -> [RgbImage; 2] {
    let picture = squares(upload).unwrap();
    Shape::Square.sizes().map(|size| {
        let image = opened(&picture, size);
        assert_eq!(image.dimensions(), (size.px(), size.px()));
        image
    })
}

/// Whether the four fields of both sizes have these colours, from the top left on, within a tolerance of `about` per
/// channel.
fn shows(upload: &[u8], fields: [[u8; 3]; 4], about: u8) -> bool {
    seen(upload).iter().all(|image| {
        let side = image.width();
        let (near, far) = (side / 4, side * 3 / 4);
        let middles = [(near, near), (far, near), (near, far), (far, far)];
        middles.into_iter().zip(fields).all(|((x, y), expected)| {
            let Rgb(found) = *image.get_pixel(x, y);
            found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= about)
        })
    })
}

#[test]
fn every_format_is_accepted() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
        for (width, height) in [(640, 480), (100, 300), (2_000, 1_500), (33, 33)] {
            let upload = files::file(format, width, height);
            let is_right = shows(&upload, [RED, GREEN, BLUE, YELLOW], 40);
            assert!(is_right, "{format:?} {width} × {height}");
        }
    }
}

#[test]
fn odd_pictures_are_accepted() {
    assert!(shows(&files::one_pixel(), [RED; 4], 8));
    assert!(shows(&files::deep(), [RED; 4], 8));
    assert!(shows(&files::half_there(), [WHITE, BLACK, WHITE, BLACK], 8));
    let sample = |start: &str| {
        let (name, bytes) =
            files::SAMPLES.iter().find(|(name, _)| name.starts_with(start)).unwrap();
        (*name, *bytes)
    };
    for (start, fields, about) in [
        ("a JPEG for a printer", [RED, GREEN, BLUE, YELLOW], 60),
        ("a progressive", [RED, GREEN, BLUE, YELLOW], 40),
        ("a grey", [[76; 3], [150; 3], [29; 3], [226; 3]], 8),
        ("a lossy WebP", [WHITE, GREEN, WHITE, YELLOW], 60),
        ("an animated WebP", [RED; 4], 8),
        ("an animated PNG", [RED; 4], 8),
    ] {
        let (name, bytes) = sample(start);
        assert!(shows(bytes, fields, about), "{name}: {:?}", seen(bytes)[0].get_pixel(64, 64));
    }
}

#[test]
fn an_animation_becomes_its_first_frame() {
    assert!(shows(&files::animated(300), [RED; 4], 8));
}

#[test]
fn a_picture_is_rotated_by_its_orientation() {
    assert!(shows(&files::with_gps(), [BLUE, RED, YELLOW, GREEN], 40));
}

#[test]
fn every_hostile_file_is_refused() {
    for (name, upload) in files::hostile() {
        let taken = squares(&upload);
        assert!(matches!(taken, Err(Error::Invalid { .. })), "{name}: {taken:?}");
    }
}

#[test]
fn a_truncated_picture_is_refused_and_never_shown_in_part() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
        let upload = files::file(format, 64, 64);
        let whole = squares(&upload).unwrap();
        for length in 0..upload.len() {
            // Only the end marker of a file may be missing.
            let is_half = squares(&upload[..length]).is_ok_and(|cut| cut != whole);
            assert!(!is_half, "{format:?} cut off at {length} of {}", upload.len());
        }
    }
    let upload = files::jpeg();
    for length in (0..upload.len()).step_by(97) {
        assert!(squares(&upload[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_refusal_names_the_limit_that_was_exceeded() {
    let refusal = |upload: &[u8]| squares(upload).unwrap_err().to_string();
    let long = files::png(8_001, 1, 8, 0, &files::packed(&[0; 8_002]));
    assert!(refusal(&long).contains("at most 8,000 pixels a side"), "{}", refusal(&long));
    // 40 million pixels, of eight bytes each.
    let line = vec![0; 1 + 8 * 8_000];
    let deep = files::png(8_000, 5_000, 16, 6, &files::packed(&line.repeat(5_000)));
    assert!(refusal(&deep).contains("takes too much memory"), "{}", refusal(&deep));
    let pieces = files::hostile().into_iter().find(|(name, _)| name.contains("pieces")).unwrap();
    assert!(refusal(&pieces.1).contains("too many chunks"), "{}", refusal(&pieces.1));
}

#[test]
fn decoding_is_deterministic() {
    assert_eq!(squares(&files::jpeg()).unwrap(), squares(&files::jpeg()).unwrap());
}

#[test]
fn a_whole_picture_is_rotated_not_cropped_and_never_enlarged() {
    for (upload, full, preview) in [
        (files::file(ImageFormat::Png, 2_000, 1_500), (1_024, 768), (320, 240)),
        (files::file(ImageFormat::Gif, 100, 300), (100, 300), (100, 300)),
        (files::file(ImageFormat::Jpeg, 33, 700), (33, 700), (15, 320)),
    ] {
        let picture = decode(&upload, Shape::Whole).unwrap();
        for (size, sides) in [(PictureSize::Full, full), (PictureSize::Preview, preview)] {
            let image = opened(&picture, size);
            assert_eq!(image.dimensions(), sides);
            let (width, height) = sides;
            for ((x, y), colour) in [
                ((width / 8, height / 8), RED),
                ((width * 7 / 8, height / 8), GREEN),
                ((width / 8, height * 7 / 8), BLUE),
                ((width * 7 / 8, height * 7 / 8), YELLOW),
            ] {
                let Rgb(found) = *image.get_pixel(x, y);
                let is_near = found.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 60);
                assert!(is_near, "{x}, {y} of {sides:?}: {found:?}");
            }
        }
    }
    let turned = decode(&files::with_gps(), Shape::Whole).unwrap();
    let (upright, lying) = (opened(&turned, PictureSize::Full), files::with_gps());
    let lying = image::load_from_memory(&lying).unwrap();
    assert_eq!(upright.dimensions(), (lying.height(), lying.width()));
}

#[test]
fn every_hostile_file_is_refused_as_a_whole_picture_too() {
    for (name, upload) in files::hostile() {
        let taken = decode(&upload, Shape::Whole);
        assert!(matches!(taken, Err(Error::Invalid { .. })), "{name}: {taken:?}");
    }
}
