//! From a picture to its squares.

use bytes::Bytes;
use image::{
    DynamicImage, GenericImageView, Rgb, RgbImage, Rgba,
    codecs::jpeg::JpegEncoder,
    imageops::{self, FilterType},
    metadata::Orientation,
};
use lodge_domain::{
    Error, Result,
    accounts::{PictureSize, Squares},
};

/// Of JPEG, 1 to 100.
const QUALITY: u8 = 85;

/// A picture is first made smaller by whole pixels, to a side of this length or somewhat more: all of the
/// work on large ones is one look at each of their pixels.
const REDUCED_PX: u32 = 2 * PictureSize::Large.px();

/// Both squares, turned as the picture is meant to be seen.
pub(crate) fn both(image: &DynamicImage, orientation: Orientation) -> Result<Squares> {
    let mut reduced = DynamicImage::ImageRgb8(reduced(image));
    reduced.apply_orientation(orientation);
    let reduced = reduced.into_rgb8();
    let of = |size| encoded(&reduced, size);
    Ok(Squares { large: of(PictureSize::Large)?, small: of(PictureSize::Small)? })
}

fn encoded(reduced: &RgbImage, size: PictureSize) -> Result<Bytes> {
    let square = imageops::resize(reduced, size.px(), size.px(), FilterType::CatmullRom);
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    encoder.encode_image(&square).map_err(Error::internal)?;
    Ok(bytes.into())
}

/// The square in the middle, on white, each of its pixels the mean of as many on either side.
fn reduced(image: &DynamicImage) -> RgbImage {
    let (width, height) = image.dimensions();
    let side = width.min(height);
    let factor = (side / REDUCED_PX).max(1);
    let reduced = side / factor;
    let (left, top) = ((width - reduced * factor) / 2, (height - reduced * factor) / 2);
    RgbImage::from_fn(reduced, reduced, |x, y| {
        mean(image, left + x * factor, top + y * factor, factor)
    })
}

/// The mean of a square of pixels, on white.
fn mean(image: &DynamicImage, left: u32, top: u32, side: u32) -> Rgb<u8> {
    let mut sums = [0; 3];
    for y in top..top + side {
        for x in left..left + side {
            let Rgba([red, green, blue, alpha]) = image.get_pixel(x, y);
            for (sum, channel) in sums.iter_mut().zip([red, green, blue]) {
                *sum += on_white(channel, alpha);
            }
        }
    }
    Rgb(sums.map(|sum| u8::try_from(sum / (side * side)).unwrap_or(u8::MAX)))
}

fn on_white(channel: u8, alpha: u8) -> u32 {
    let (channel, alpha) = (u32::from(channel), u32::from(alpha));
    (channel * alpha + 255 * (255 - alpha)) / 255
}

#[cfg(test)]
mod tests {
    use image::RgbaImage;

    use super::*;

    #[test]
    fn nothing_is_white_and_does_not_tint_what_is_beside_it() {
        // Black that nobody sees, beside red.
        let image = RgbaImage::from_fn(1024, 1024, |x, _| {
            if x % 2 == 0 { Rgba([0, 0, 0, 0]) } else { Rgba([255, 0, 0, 255]) }
        });
        let reduced = reduced(&image.into());
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
            let reduced = reduced(&image.into());
            assert_eq!(reduced.width(), side / (side / REDUCED_PX).max(1));
            assert!(reduced.pixels().all(|pixel| *pixel == Rgb([9, 9, 9])), "{width} × {height}");
        }
    }
}
