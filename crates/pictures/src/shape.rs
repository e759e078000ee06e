//! From what was decoded to a picture of some shape.

use bytes::Bytes;
use image::{
    DynamicImage, GenericImageView, Rgb, RgbImage, Rgba,
    codecs::jpeg::JpegEncoder,
    imageops::{self, FilterType},
    metadata::Orientation,
};
use lodge_domain::{
    Error, Result,
    accounts::{Picture, PictureSize, Shape},
};

/// Of JPEG, 1 to 100.
const QUALITY: u8 = 85;

/// A picture is first made smaller by whole pixels, to a side of this length or somewhat more: all of the
/// work on large ones is one look at each of their pixels.
const fn reduced_px(shape: Shape) -> u32 {
    match shape {
        Shape::Square => 2 * PictureSize::Large.px(),
        Shape::Whole => PictureSize::Full.px(),
    }
}

/// Its sizes, turned as the picture is meant to be seen.
pub(crate) fn made(image: DynamicImage, orientation: Orientation, shape: Shape) -> Result<Picture> {
    let mut reduced = DynamicImage::ImageRgb8(reduced(&image, shape));
    // What comes now needs the room.
    drop(image);
    reduced.apply_orientation(orientation);
    let reduced = reduced.into_rgb8();
    let [larger, smaller] = shape.sizes();
    let of = |size: PictureSize| encoded(&reduced, sides(&reduced, size.px(), shape));
    Ok(Picture::new(shape, [of(larger)?, of(smaller)?]))
}

/// The sides of a picture of that shape: of a whole one the longer is `px`, unless it is less.
fn sides(image: &RgbImage, px: u32, shape: Shape) -> (u32, u32) {
    let (width, height) = image.dimensions();
    let longer = width.max(height);
    if shape == Shape::Square {
        return (px, px);
    }
    if longer <= px {
        return (width, height);
    }
    // Pixels of one are at most 8,000 a side.
    let of = |side: u32| ((side * px + longer / 2) / longer).max(1);
    (of(width), of(height))
}

fn encoded(reduced: &RgbImage, (width, height): (u32, u32)) -> Result<Bytes> {
    let image = imageops::resize(reduced, width, height, FilterType::CatmullRom);
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    encoder.encode_image(&image).map_err(Error::internal)?;
    Ok(bytes.into())
}

/// The part of it that is to be seen, around its middle, on white, each of its pixels the mean of as many on either
/// side.
fn reduced(image: &DynamicImage, shape: Shape) -> RgbImage {
    let (width, height) = image.dimensions();
    let side = match shape {
        Shape::Square => width.min(height),
        Shape::Whole => width.max(height),
    };
    let factor = (side / reduced_px(shape)).max(1);
    // Something may be much longer than it is wide.
    let block = (factor.min(width), factor.min(height));
    let (across, down) = match shape {
        Shape::Square => (side / factor, side / factor),
        Shape::Whole => (width / block.0, height / block.1),
    };
    let (left, top) = ((width - across * block.0) / 2, (height - down * block.1) / 2);
    RgbImage::from_fn(across, down, |x, y| {
        mean(image, (left + x * block.0, top + y * block.1), block)
    })
}

/// The mean of a block of pixels, on white.
fn mean(image: &DynamicImage, (left, top): (u32, u32), (width, height): (u32, u32)) -> Rgb<u8> {
    let mut sums = [0; 3];
    for y in top..top + height {
        for x in left..left + width {
            let Rgba([red, green, blue, alpha]) = image.get_pixel(x, y);
            for (sum, channel) in sums.iter_mut().zip([red, green, blue]) {
                *sum += on_white(channel, alpha);
            }
        }
    }
    Rgb(sums.map(|sum| u8::try_from(sum / (width * height)).unwrap_or(u8::MAX)))
}

fn on_white(channel: u8, alpha: u8) -> u32 {
    let (channel, alpha) = (u32::from(channel), u32::from(alpha));
    (channel * alpha + 255 * (255 - alpha)) / 255
}

#[cfg(test)]
mod tests {
    use image::RgbaImage;

    use super::*;
    use crate::answer;

    #[test]
    fn nothing_is_white_and_does_not_tint_what_is_beside_it() {
        // Black that nobody sees, beside red.
        let image = RgbaImage::from_fn(1024, 1024, |x, _| {
            if x % 2 == 0 { Rgba([0, 0, 0, 0]) } else { Rgba([255, 0, 0, 255]) }
        });
        let reduced = reduced(&image.into(), Shape::Square);
        assert_eq!(reduced.dimensions(), (512, 512));
        assert!(reduced.pixels().all(|pixel| *pixel == Rgb([255, 127, 127])));
    }

    #[test]
    fn the_middle_is_kept_whatever_the_sides_are() {
        for (width, height) in [(1, 1), (1, 900), (7999, 3), (513, 1027), (1025, 700)] {
            let (x, y) = (width / 2, height / 2);
            let image = RgbImage::from_fn(width, height, |at, down| {
                let near = width.min(height) / 2 + 1;
                let is_near = at.abs_diff(x) <= near && down.abs_diff(y) <= near;
                if is_near { Rgb([9, 9, 9]) } else { Rgb([200, 0, 0]) }
            });
            let side = width.min(height);
            let reduced = reduced(&image.into(), Shape::Square);
            assert_eq!(reduced.width(), side / (side / reduced_px(Shape::Square)).max(1));
            assert!(reduced.pixels().all(|pixel| *pixel == Rgb([9, 9, 9])), "{width} × {height}");
        }
    }

    #[test]
    fn an_answer_holds_the_largest_picture_of_noise() {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let image = RgbImage::from_fn(1024, 1024, |_, _| Rgb([noise(), noise(), noise()]));
        let made = made(image.into(), Orientation::NoTransforms, Shape::Whole);
        let said = answer::said(&made).unwrap();
        assert!(said.len() < answer::BYTES_MAX * 3 / 4, "{} bytes", said.len());
    }

    #[test]
    fn a_whole_picture_keeps_its_sides_and_is_never_enlarged() {
        for (width, height, full, preview) in [
            (40, 30, (40, 30), (40, 30)),
            (320, 321, (320, 321), (319, 320)),
            (1024, 1024, (1024, 1024), (320, 320)),
            (4000, 3000, (1024, 768), (320, 240)),
            (2047, 10, (1024, 5), (320, 2)),
            (8000, 1, (1024, 1), (320, 1)),
            (3, 7999, (1, 1024), (1, 320)),
        ] {
            let image = RgbImage::from_pixel(width, height, Rgb([9, 9, 9]));
            let reduced = reduced(&image.into(), Shape::Whole);
            let of = |size: PictureSize| sides(&reduced, size.px(), Shape::Whole);
            assert_eq!((of(PictureSize::Full), of(PictureSize::Preview)), (full, preview));
            assert!(reduced.pixels().all(|pixel| *pixel == Rgb([9, 9, 9])), "{width} × {height}");
        }
    }
}
