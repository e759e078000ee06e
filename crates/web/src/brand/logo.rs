//! The logo: a file of the operator, checked before it is served.

use bytes::Bytes;
use lodge_domain::{Error, Result};

/// The maximum size, in bytes: every page loads the logo.
const BYTES_MAX: usize = 64 * 1024;

/// The maximum width and height of a PNG or WebP file, in pixels.
const PIXELS_MAX: u32 = 1_024;

/// The type of SVG files.
pub(super) const SVG: &str = "image/svg+xml";

/// A PNG, SVG or WebP file.
#[derive(Debug, Clone)]
pub struct Logo {
    format: Format,
    bytes: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Png,
    Svg,
    Webp,
}

impl Logo {
    /// Checks the content of a file.
    pub fn read(bytes: Vec<u8>) -> Result<Self> {
        if bytes.len() > BYTES_MAX {
            return refused("must have at most 64 KiB");
        }
        let (format, size) = if let Some(size) = png_size(&bytes) {
            (Format::Png, Some(size))
        } else if let Some(size) = webp_size(&bytes) {
            (Format::Webp, Some(size))
        } else if is_svg(&bytes) {
            (Format::Svg, None)
        } else {
            return refused("must be a PNG, SVG or WebP file");
        };
        let is_within = |pixels: u32| (1..=PIXELS_MAX).contains(&pixels);
        if size.is_some_and(|(width, height)| !is_within(width) || !is_within(height)) {
            return refused("must have at most 1024 pixels a side");
        }
        Ok(Self { format, bytes: bytes.into() })
    }

    /// The name among the assets.
    pub(super) fn file_name(&self) -> &'static str {
        match self.format {
            Format::Png => "logo.png",
            Format::Svg => "logo.svg",
            Format::Webp => "logo.webp",
        }
    }

    /// The `Content-Type`.
    pub(super) fn kind(&self) -> &'static str {
        match self.format {
            Format::Png => "image/png",
            Format::Svg => SVG,
            Format::Webp => "image/webp",
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }
}

fn refused<T>(reason: &'static str) -> Result<T> {
    Err(Error::invalid("logo", reason))
}

/// Returns width and height of a PNG file.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(4..16)?.strip_prefix(b"IHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((number(0)?, number(4)?))
}

/// Returns width and height of a WebP file, of any of its three kinds.
fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let chunk = bytes.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let (kind, body) = (chunk.get(..4)?, chunk.get(8..)?);
    let number = |at: usize, length: usize| {
        let bytes = body.get(at..at + length)?.iter().rev();
        Some(bytes.fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    };
    match kind {
        b"VP8X" => Some((number(4, 3)? + 1, number(7, 3)? + 1)),
        b"VP8L" => {
            let bits = number(1, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((number(6, 2)? & 0x3fff, number(8, 2)? & 0x3fff)),
        _ => None,
    }
}

/// Whether the file is text whose first element is `svg`, without a document type, which could define entities.
fn is_svg(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let text = text.trim_start_matches('\u{feff}');
    if text.to_ascii_lowercase().contains("<!doctype") {
        return false;
    }
    let elements = text.split('<').skip(1);
    let mut elements = elements.filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let is_root = |rest: &str| {
        rest.strip_prefix("svg")
            .is_some_and(|rest| rest.starts_with([' ', '>', '/', '\n', '\r', '\t']))
    };
    text.trim_start().starts_with('<') && elements.next().is_some_and(is_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let size = [width, height].map(u32::to_be_bytes).concat();
        [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &size, &[8, 6, 0, 0, 0]].concat()
    }

    fn webp(kind: [u8; 4], body: &[u8]) -> Vec<u8> {
        [&b"RIFF\x20\0\0\0WEBP"[..], &kind, &[10, 0, 0, 0], body].concat()
    }

    fn kind(bytes: &[u8]) -> Option<&'static str> {
        Logo::read(bytes.to_vec()).ok().map(|logo| logo.kind())
    }

    #[test]
    fn a_logo_is_a_small_png_svg_or_webp_file() {
        assert_eq!(kind(&png(1024, 1)), Some("image/png"));
        assert_eq!(kind(&png(1025, 1)), None);
        assert_eq!(kind(&png(0, 1)), None);
        let lossy = |high| webp(*b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 0, 4, 8, high]);
        assert_eq!((kind(&lossy(0)), kind(&lossy(5))), (Some("image/webp"), None));
        assert_eq!(kind(&webp(*b"VP8L", &[0x2f, 0xff, 0xc0, 0x3f, 0])), Some("image/webp"));
        assert_eq!(kind(&webp(*b"VP8L", &[0x2f, 0xff, 0xff, 0xff, 0])), None);
        assert_eq!(kind(&webp(*b"VP8X", &[0, 0, 0, 0, 255, 3, 0, 0, 0, 0])), Some("image/webp"));
        assert_eq!(kind(&webp(*b"VP8X", &[0, 0, 0, 0, 0, 4, 0, 0, 0, 0])), None);
        assert_eq!(kind(&webp(*b"VP8Y", &[0; 10])), None);
        let svg = b"<?xml version='1.0'?>\n<!-- a -->\n<svg xmlns='http://www.w3.org/2000/svg'/>";
        assert_eq!(kind(svg), Some("image/svg+xml"));
        for text in [
            "",
            "svg",
            "<html><svg/></html>",
            "<svgx/>",
            "a<svg/>",
            "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>",
            "GIF89a",
        ] {
            assert_eq!(kind(text.as_bytes()), None, "{text}");
        }
        let long = format!("<svg>{}</svg>", " ".repeat(BYTES_MAX));
        assert_eq!(kind(long.as_bytes()), None);
        assert_eq!(kind(b"<svg>\xff</svg>"), None);
    }
}
