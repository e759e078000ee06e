//! Cropping, scaling and encoding of a decoded picture.

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

/// JPEG quality, 1 to 100.
const QUALITY: u8 = 85;

/// The side to which a picture is first reduced, by a whole factor, to this length or somewhat more: large pictures
/// then cost one pass over their pixels.
const fn reduced_px(shape: Shape) -> u32 {
    match shape {
        Shape::Square => 2 * PictureSize::Large.px(),
        Shape::Whole => PictureSize::Full.px(),
    }
}

/// Scales a decoded picture to the sizes of a shape, rotated by its orientation.
pub(crate) fn made(image: DynamicImage, orientation: Orientation, shape: Shape) -> Result<Picture> {
    let mut reduced = DynamicImage::ImageRgb8(reduced(&image, shape));
    // Free the memory for the next steps.
    drop(image);
    reduced.apply_orientation(orientation);
    let reduced = reduced.into_rgb8();
    let [larger, smaller] = shape.sizes();
    let of = |size: PictureSize| encoded(&reduced, sides(&reduced, size.px(), shape));
    Ok(Picture::new(shape, [of(larger)?, of(smaller)?]))
}

/// Returns the sides of a picture of a shape; the longer side of a whole one is at most `px`.
fn sides(image: &RgbImage, px: u32, shape: Shape) -> (u32, u32) {
    let (width, height) = image.dimensions();
    let longer = width.max(height);
    if shape == Shape::Square {
        return (px, px);
    }
    if longer <= px {
        return (width, height);
    }
    // No overflow: a side has at most 8,000 pixels.
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

/// Crops to the shape around the centre and reduces by a whole factor: each pixel is the mean of a block, on white.
fn reduced(image: &DynamicImage, shape: Shape) -> RgbImage {
    let (width, height) = image.dimensions();
    let side = match shape {
        Shape::Square => width.min(height),
        Shape::Whole => width.max(height),
    };
    let factor = (side / reduced_px(shape)).max(1);
    // The picture may be narrower than the factor.
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

/// Returns the mean of a block of pixels, on white.
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
    use crate::protocol;

    #[test]
    fn transparent_pixels_are_white_and_do_not_tint_their_neighbours() {
        // Transparent black beside red.
        let image = RgbaImage::from_fn(1024, 1024, |x, _| {
            if x % 2 == 0 { Rgba([0, 0, 0, 0]) } else { Rgba([255, 0, 0, 255]) }
        });
        let reduced = reduced(&image.into(), Shape::Square);
        assert_eq!(reduced.dimensions(), (512, 512));
        assert!(reduced.pixels().all(|pixel| *pixel == Rgb([255, 127, 127])));
    }

    #[test]
    fn a_square_is_cropped_around_the_centre() {
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
    fn the_largest_picture_of_noise_fits_into_an_answer() {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let image = RgbImage::from_fn(1024, 1024, |_, _| Rgb([noise(), noise(), noise()]));
        let made = made(image.into(), Orientation::NoTransforms, Shape::Whole);
        let said = protocol::encode(&made).unwrap();
        assert!(said.len() < protocol::BYTES_MAX * 3 / 4, "{} bytes", said.len());
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
