//! Decoding of an upload, within limits that are checked before anything is decoded.

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

use crate::{jpeg, png, polyglot, shape, webp};

/// The longest side of a picture, in pixels.
const SIDE_PX_MAX: u32 = 8_000;

/// The most pixels of a picture.
const PIXELS_MAX: u64 = 40_000_000;

/// Memory for decoding a picture, in bytes, estimated from its headers.
const MEMORY_BYTES_MAX: u64 = 192 << 20;

/// Memory for decompressed ancillary chunks of a PNG, such as a colour profile, in bytes.
const PNG_EXTRAS_BYTES_MAX: u64 = 4 << 20;

/// Memory of the WebP decoder for each pixel beside its output, in bytes: a frame and its alpha channel.
const WEBP_BYTES_A_PIXEL: u64 = 7;

/// Decodes an upload to a picture of a shape: its first frame, rotated by its EXIF orientation, transparency on white,
/// without any metadata of `upload`.
///
/// # Errors
///
/// Returns [`Error::Invalid`] with the reason if the upload is refused.
pub fn decode(upload: &[u8], shape: Shape) -> Result<Picture> {
    let format = image::guess_format(upload).map_err(|_| no_picture())?;
    if polyglot::is_polyglot(upload) {
        return Err(refused("must be only a picture; this file can also be read as another type"));
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

/// Whether a picture exceeds the limits of its sides or its pixels.
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

/// Decodes a picture if its memory is within the limit: its pixels, and the decoder's own memory, which `beside`
/// returns for a number of pixels.
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
    // A picture without an orientation is not rotated.
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
        ImageError::Unsupported(_) => refused("has an unsupported variant of its format"),
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
    refused("takes too much memory or time to decode; save it as a plain JPEG, or smaller")
}

pub(crate) fn damaged() -> Error {
    refused("is damaged or incomplete")
}

pub(crate) fn in_pieces() -> Error {
    refused("has too many chunks; save it as a plain JPEG")
}

pub(crate) fn refused(why: impl Into<Cow<'static, str>>) -> Error {
    Error::invalid("picture", why)
}
