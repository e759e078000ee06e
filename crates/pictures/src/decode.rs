//! From the bytes that somebody sent to a picture, within bounds that are checked before anything is decoded.

use std::{borrow::Cow, io::Cursor};

use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, Limits,
    codecs::{gif::GifDecoder, jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder},
    error::LimitErrorKind,
    metadata::Orientation,
};
use lodge_domain::{
    Error, Result,
    accounts::{Picture, Shape},
};

use crate::{alone, jpeg, png, shape, webp};

/// The longest side of a picture that is decoded, in pixels.
const SIDE_PX_MAX: u32 = 8_000;

/// All pixels of one.
const PIXELS_MAX: u64 = 40_000_000;

/// Memory that decoding one may take, in bytes, as reckoned from what it says of itself.
const MEMORY_BYTES_MAX: u64 = 192 << 20;

/// Memory for what a PNG carries beside its pixels, such as a profile of colours, unpacked.
const PNG_EXTRAS_BYTES_MAX: u64 = 4 << 20;

/// Memory that the decoder of WebP takes for each pixel beside its output: a frame, and one of its
/// transparency.
const WEBP_BYTES_A_PIXEL: u64 = 7;

/// A picture of that shape: its first frame, turned as it is meant to be seen, on white where nothing is. Nothing else
/// of `upload` is in it.
///
/// # Errors
///
/// [`Error::Invalid`], which says what is wrong with it.
pub fn decode(upload: &[u8], shape: Shape) -> Result<Picture> {
    let format = image::guess_format(upload).map_err(|_| no_picture())?;
    if alone::is_more_than_a_picture(upload) {
        return Err(refused("is not only a picture: the file can be read as something else, too"));
    }
    let (image, orientation) = match format {
        ImageFormat::Jpeg => {
            let coefficients = jpeg::coefficient_bytes(upload).ok_or_else(damaged)?;
            read(JpegDecoder::new(Cursor::new(upload)), |_| coefficients)
        }
        ImageFormat::Png => {
            check_png(upload)?;
            let limits = limits(PNG_EXTRAS_BYTES_MAX);
            read(PngDecoder::with_limits(Cursor::new(upload), limits), |_| 0)
        }
        ImageFormat::WebP => {
            let whole = webp::whole(upload).ok_or_else(damaged)?;
            read(WebPDecoder::new(Cursor::new(whole)), |pixels| pixels * WEBP_BYTES_A_PIXEL)
        }
        ImageFormat::Gif => read(GifDecoder::new(Cursor::new(upload)), |_| 0),
        _ => Err(no_picture()),
    }?;
    shape::made(image, orientation, shape)
}

/// Whether a picture of these sides is not decoded at all.
pub(crate) fn is_too_large(width: u32, height: u32) -> bool {
    width.max(height) > SIDE_PX_MAX || u64::from(width) * u64::from(height) > PIXELS_MAX
}

fn check_png(upload: &[u8]) -> Result<()> {
    let header = png::Header::read(upload).ok_or_else(damaged)?;
    if is_too_large(header.width, header.height) {
        return Err(too_large());
    }
    header.check(upload)
}

/// Decodes, if what that takes is within bounds: the pixels, and what the decoder needs `beside` so many.
fn read(
    decoder: Result<impl ImageDecoder, ImageError>,
    beside: impl FnOnce(u64) -> u64,
) -> Result<(DynamicImage, Orientation)> {
    let mut decoder = decoder.map_err(|error| explained(&error))?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    let memory = decoder.total_bytes().saturating_add(beside(pixels));
    if is_too_large(width, height) {
        return Err(too_large());
    }
    if memory > MEMORY_BYTES_MAX {
        return Err(too_costly());
    }
    // A picture that does not say how it is to be turned is not turned.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let left = MEMORY_BYTES_MAX - memory;
    decoder.set_limits(limits(left)).map_err(|error| explained(&error))?;
    let image = DynamicImage::from_decoder(decoder).map_err(|error| explained(&error))?;
    Ok((image, orientation))
}

fn limits(memory_bytes_max: u64) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(SIDE_PX_MAX);
    limits.max_image_height = Some(SIDE_PX_MAX);
    limits.max_alloc = Some(memory_bytes_max);
    limits
}

fn explained(error: &ImageError) -> Error {
    match error {
        ImageError::Limits(limit) if matches!(limit.kind(), LimitErrorKind::DimensionError) => {
            too_large()
        }
        ImageError::Limits(_) => too_costly(),
        ImageError::Unsupported(_) => refused("is of a kind that cannot be read here"),
        _ => damaged(),
    }
}

fn no_picture() -> Error {
    refused("must be a JPEG, PNG, WebP or GIF")
}

fn too_large() -> Error {
    refused("is too large: at most 8,000 pixels a side, and 40 million in all")
}

pub(crate) fn too_costly() -> Error {
    refused("takes too much memory or time to read; save it as a plain JPEG, or smaller")
}

pub(crate) fn damaged() -> Error {
    refused("cannot be read: the file is damaged, or not whole")
}

pub(crate) fn in_pieces() -> Error {
    refused("is in too many pieces; save it as a plain JPEG")
}

pub(crate) fn refused(why: impl Into<Cow<'static, str>>) -> Error {
    Error::invalid("picture", why)
}
