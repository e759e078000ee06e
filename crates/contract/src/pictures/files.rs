//! Uploads to test a decoder with: good, odd and hostile ones.

use std::io::{Cursor, Write};

use flate2::{Compression, Crc, write::ZlibEncoder};
use image::{
    DynamicImage, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage,
    codecs::{gif::GifEncoder, jpeg::JpegEncoder, png::PngEncoder},
};

mod trees;

/// The text in the metadata of [`with_gps`].
pub const SECRET: &str = "Himitsu-no-basho";

/// Pictures that no encoder here can make: [`fields`] with sides of 64 pixels, or animations of a red frame and a blue
/// one.
pub const SAMPLES: [(&str, &[u8]); 6] = [
    ("a JPEG for a printer (CMYK)", include_bytes!("../../samples/cmyk.jpg")),
    ("a progressive JPEG", include_bytes!("../../samples/progressive.jpg")),
    ("a grey progressive JPEG", include_bytes!("../../samples/grey.jpg")),
    ("a lossy WebP that is there by half", include_bytes!("../../samples/half.webp")),
    ("an animated WebP", include_bytes!("../../samples/animated.webp")),
    ("an animated PNG", include_bytes!("../../samples/animated.png")),
];

/// A picture of four fields: red, green, blue and yellow, row by row.
pub fn fields(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| match (x < width / 2, y < height / 2) {
        (true, true) => Rgb([255, 0, 0]),
        (false, true) => Rgb([0, 255, 0]),
        (true, false) => Rgb([0, 0, 255]),
        (false, false) => Rgb([255, 255, 0]),
    })
}

/// [`fields`] as a file.
pub fn file(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
    written(fields(width, height), format)
}

fn written(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A plain JPEG.
pub fn jpeg() -> Vec<u8> {
    file(ImageFormat::Jpeg, 640, 480)
}

/// A JPEG of a phone that was held sideways, with its GPS position, and [`SECRET`] as a comment and in its EXIF data.
/// Shown upright, its first field is at the top right.
pub fn with_gps() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 95);
    encoder.set_exif_metadata(exif()).unwrap();
    encoder.encode_image(&fields(640, 480)).unwrap();
    commented(&bytes, SECRET.as_bytes())
}

/// TIFF, little-endian: the maker, a rotation by 90°, and 46° 33′ N (which `exiftool` reads as `GPSLatitude`).
fn exif() -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    let entry = |tiff: &mut Vec<u8>, tag: u16, kind: u16, count: u32, value: u32| {
        tiff.extend([tag, kind].map(u16::to_le_bytes).concat());
        tiff.extend([count, value].map(u32::to_le_bytes).concat());
    };
    let make_length = u32::try_from(SECRET.len() + 1).unwrap();
    // The directory: 8 + 2 + 3 × 12 + 4 = 50; then that of the GPS: 50 + 2 + 2 × 12 + 4 = 80.
    tiff.extend(3_u16.to_le_bytes());
    entry(&mut tiff, 0x010f, 2, make_length, 104);
    entry(&mut tiff, 0x0112, 3, 1, 6);
    entry(&mut tiff, 0x8825, 4, 1, 50);
    tiff.extend([0; 4]);
    tiff.extend(2_u16.to_le_bytes());
    entry(&mut tiff, 1, 2, 2, u32::from(b'N'));
    entry(&mut tiff, 2, 5, 3, 80);
    tiff.extend([0; 4]);
    tiff.extend([46, 1, 33, 1, 0, 1].map(u32::to_le_bytes).concat());
    tiff.extend(SECRET.as_bytes());
    tiff.push(0);
    tiff
}

/// A JPEG with a comment after its first marker.
pub fn commented(jpeg: &[u8], comment: &[u8]) -> Vec<u8> {
    let length = u16::try_from(comment.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, 0xfe], &length, comment, &jpeg[2..]].concat()
}

/// A PNG whose left half is transparent.
pub fn half_there() -> Vec<u8> {
    let image = RgbaImage::from_fn(300, 300, |x, _| Rgba([0, 0, 0, if x < 150 { 0 } else { 255 }]));
    written(image, ImageFormat::Png)
}

/// A PNG with 16 bits a channel.
pub fn deep() -> Vec<u8> {
    let samples = [0xffff_u16, 0, 0, 0xffff].map(u16::to_be_bytes).concat();
    png(20, 20, 16, 6, &packed(&[&[0][..], &samples.repeat(20)].concat().repeat(20)))
}

/// A GIF of `frames` frames; the first is red.
pub fn animated(frames: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new(&mut bytes);
    for number in 0..frames {
        let colour = if number == 0 { Rgba([255, 0, 0, 255]) } else { Rgba([0, 0, 255, 255]) };
        encoder.encode_frame(Frame::new(RgbaImage::from_pixel(100, 100, colour))).unwrap();
    }
    drop(encoder);
    bytes
}

/// A PNG with this header; `data` is its compressed pixel data.
pub fn png(width: u32, height: u32, bits: u8, colours: u8, data: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, colours, 0, 0, 0]];
    let chunks = [chunk(*b"IHDR", &header.concat()), chunk(*b"IDAT", data), chunk(*b"IEND", &[])];
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
}

/// A PNG with a further chunk after its header.
pub fn with_chunk(png: &[u8], kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    const HEADER_END: usize = 8 + 12 + 13;
    [&png[..HEADER_END], &chunk(kind, content), &png[HEADER_END..]].concat()
}

fn chunk(kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    let mut check = Crc::new();
    check.update(&kind);
    check.update(content);
    [&length[..], &kind, content, &check.sum().to_be_bytes()].concat()
}

/// Compresses bytes with zlib at the best level.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// So many megabytes of zeros, compressed to a thousandth.
pub fn bomb(megabytes: usize) -> Vec<u8> {
    let megabyte = vec![0; 1 << 20];
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..megabytes {
        encoder.write_all(&megabyte).unwrap();
    }
    encoder.finish().unwrap()
}

/// Files that a decoder must refuse, each with a name.
pub fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let bomb = bomb(256);
    let jpeg = jpeg();
    let zip = [b"PK\x03\x04".as_slice(), &[0; 26], b"x", b"PK\x05\x06", &[0; 18]].concat();
    let page: &[u8] = b"<html><script>alert(1)</script></html>";
    let with_profile = [b"x\0\0".as_slice(), &bomb].concat();
    vec![
        ("nothing", Vec::new()),
        ("a text", b"no picture".to_vec()),
        (
            "an SVG",
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".to_vec(),
        ),
        ("a page", page.to_vec()),
        ("a TIFF", exif()),
        ("a BMP", [b"BM".as_slice(), &[0; 60]].concat()),
        ("a PNG of 50,000 × 50,000", png(50_000, 50_000, 8, 6, &packed(&[0; 100]))),
        ("a GIF of 65,535 × 65,535", gif_header(u16::MAX, u16::MAX)),
        ("a JPEG of 65,535 × 65,535", resized(&jpeg, u16::MAX, u16::MAX)),
        ("a WebP of 16,384 × 16,384", webp_header(16_384)),
        ("a WebP whose frame is larger than it says", webp_of_another_frame()),
        ("a WebP whose EXIF has four gigabytes", webp_of_a_long_chunk()),
        ("a PNG of 16,000 × 16,000 that is there", png(16_000, 16_000, 8, 0, &bomb)),
        ("a PNG of 7,999 × 7,999 that is there", png(7_999, 7_999, 8, 0, &bomb)),
        ("a PNG of 100 lines that unpack to 256 MB", png(1_000, 100, 8, 0, &bomb)),
        ("a PNG cut off behind a profile of 256 MB", {
            let png = with_chunk(&png(10, 10, 8, 0, &[]), *b"iCCP", &with_profile);
            png[..png.len() - 30].to_vec()
        }),
        ("a JPEG and a page", [&jpeg[..], page].concat()),
        ("a JPEG and an archive", [&jpeg[..], &zip].concat()),
        ("a JPEG with a page in it", commented(&jpeg, page)),
        ("a JPEG that is cut off", jpeg[..jpeg.len() / 2].to_vec()),
        ("a JPEG without its last byte", jpeg[..jpeg.len() - 1].to_vec()),
        ("a JPEG that ends after its header", jpeg[..200].to_vec()),
        ("a JPEG of a thousand scans", scanned(&jpeg, 1_000)),
        ("a PNG of 400,000 empty pieces", png_in_pieces(400_000)),
        ("a WebP of frames in frames, 200,000 deep", webp_of_frames_in_frames(200_000)),
        ("a PNG that is cut off", cut(&file(ImageFormat::Png, 300, 300))),
        ("a GIF that is cut off", cut(&noise(ImageFormat::Gif))),
        ("a WebP that is cut off", cut(&noise(ImageFormat::WebP))),
    ]
}

/// The largest accepted pictures, of the usual formats, which take the most memory.
pub fn largest() -> Vec<(&'static str, Vec<u8>)> {
    let line = [&[0][..], &[255, 0, 0, 255].repeat(8_000)].concat();
    let mut lines = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..5_000 {
        lines.write_all(&line).unwrap();
    }
    vec![
        ("a JPEG of 40 million pixels", file(ImageFormat::Jpeg, 8_000, 5_000)),
        ("a PNG of as many", png(8_000, 5_000, 8, 6, &lines.finish().unwrap())),
    ]
}

/// A picture that takes a while to decode.
pub fn large_png() -> Vec<u8> {
    file(ImageFormat::Png, 3_000, 3_000)
}

/// A valid and small file, but its decoder takes more than a gigabyte for it: only a process of its own may decode
/// it.
pub fn greedy() -> (&'static str, Vec<u8>) {
    ("a WebP of one pixel and 65,536 groups of codes", trees::webp())
}

/// One red pixel after `count` empty chunks.
fn png_in_pieces(count: usize) -> Vec<u8> {
    let png = one_pixel();
    let data = png.windows(4).position(|kind| kind == b"IDAT").unwrap() - 4;
    [&png[..data], &chunk(*b"IDAT", &[]).repeat(count), &png[data..]].concat()
}

/// Frames of an animation, each of which contains only the next one.
fn webp_of_frames_in_frames(depth: usize) -> Vec<u8> {
    let mut content = b"WEBP".to_vec();
    for left in (0..depth).rev() {
        content.extend(b"ANMF");
        content.extend(u32::try_from(16 + 24 * left).unwrap().to_le_bytes());
        content.extend([0; 16]);
    }
    let length = u32::try_from(content.len()).unwrap().to_le_bytes();
    [&b"RIFF"[..], &length, &content].concat()
}

fn cut(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

/// A picture of noise, which does not compress well.
fn noise(format: ImageFormat) -> Vec<u8> {
    let mut state = 1_u32;
    let image = RgbImage::from_fn(200, 200, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, red, green, blue] = state.to_le_bytes();
        Rgb([red, green, blue])
    });
    written(image, format)
}

fn gif_header(width: u16, height: u16) -> Vec<u8> {
    let sides = [width, height].map(u16::to_le_bytes).concat();
    [&b"GIF89a"[..], &sides, b"\0\0\0,\0\0\0\0", &sides, b"\0\x02\x01\0\0;"].concat()
}

/// A JPEG that claims another size.
pub fn resized(jpeg: &[u8], width: u16, height: u16) -> Vec<u8> {
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    let mut bytes = jpeg.to_vec();
    bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

/// A JPEG whose scan header is repeated without its data.
fn scanned(jpeg: &[u8], times: usize) -> Vec<u8> {
    let scan = jpeg.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let length = usize::from(u16::from_be_bytes([jpeg[scan + 2], jpeg[scan + 3]]));
    let header = &jpeg[scan..scan + 2 + length];
    [&jpeg[..scan], &header.repeat(times), &jpeg[scan..]].concat()
}

/// The start of a lossy frame: its tag and its sides.
fn lossy(side: u16) -> Vec<u8> {
    let side = (side & 0x3fff).to_le_bytes();
    [&[0x10, 0, 0, 0x9d, 0x01, 0x2a][..], &side, &side, &[0; 200]].concat()
}

/// The start of a lossless frame: a byte, and its sides minus one in 14 bits each.
fn webp_header(side: u32) -> Vec<u8> {
    let sides = (side - 1) | (side - 1) << 14;
    webp(&[(b"VP8L", [&[0x2f][..], &sides.to_le_bytes(), &[0; 100]].concat())])
}

fn webp_of_another_frame() -> Vec<u8> {
    webp(&[(b"VP8X", vec![0, 0, 0, 0, 9, 0, 0, 9, 0, 0]), (b"VP8 ", lossy(16_383))])
}

/// A picture of 10 × 10 pixels with a chunk whose length reaches far beyond the end of the file.
fn webp_of_a_long_chunk() -> Vec<u8> {
    let mut bytes = webp(&[
        (b"VP8X", vec![8, 0, 0, 0, 9, 0, 0, 9, 0, 0]),
        (b"VP8 ", lossy(10)),
        (b"EXIF", vec![0; 8]),
    ]);
    let length = bytes.len() - 12;
    bytes[length..length + 4].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    bytes
}

fn webp(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let mut content = b"WEBP".to_vec();
    for (kind, bytes) in chunks {
        content.extend(*kind);
        content.extend(length(bytes));
        content.extend(bytes);
    }
    [&b"RIFF"[..], &length(&content), &content].concat()
}

/// The smallest picture.
pub fn one_pixel() -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new(&mut bytes);
    encoder.write_image(&[255, 0, 0], 1, 1, image::ExtendedColorType::Rgb8).unwrap();
    bytes
}
