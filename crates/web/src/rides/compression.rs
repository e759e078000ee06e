//! Decompression of request bodies.

use std::{borrow::Cow, io::Read};

use flate2::read::MultiGzDecoder;
use http::{HeaderMap, header};
use lodge_domain::{Error, Result};
use zstd::Decoder;

/// The longest decompressed body, in bytes: 10,000 lines of 400, four times the size of a ride with an id.
const UNPACKED_BYTES_MAX: usize = 4 << 20;

/// The largest zstd window, as a power of two: the size that RFC 9659 requires of every decoder.
const WINDOW_LOG_MAX: u32 = 23;

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentEncoding {
    /// Not compressed.
    Plain,
    Gzip,
    Zstd,
}

impl ContentEncoding {
    /// Reads `Content-Encoding`.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self> {
        let mut said = headers.get_all(header::CONTENT_ENCODING).iter();
        let packing = match (said.next(), said.next()) {
            (None, _) => Some(Self::Plain),
            (Some(only), None) => match only.as_bytes().to_ascii_lowercase().as_slice() {
                b"identity" => Some(Self::Plain),
                b"gzip" | b"x-gzip" => Some(Self::Gzip),
                b"zstd" => Some(Self::Zstd),
                _ => None,
            },
            (Some(_), Some(_)) => None,
        };
        packing.ok_or_else(|| Error::invalid("Content-Encoding", "must be gzip, zstd or identity"))
    }

    /// Decompresses a body; allocates no more than the limit, whatever the size of the result.
    pub(super) fn decompress(self, body: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Plain => Ok(Cow::Borrowed(body)),
            Self::Gzip => bounded(MultiGzDecoder::new(body), "is not gzip"),
            Self::Zstd => {
                let mut decoder = Decoder::with_buffer(body).map_err(Error::internal)?;
                decoder.window_log_max(WINDOW_LOG_MAX).map_err(Error::internal)?;
                bounded(decoder, "is not zstd, or needs a window of more than 8 MiB")
            }
        }
    }
}

fn bounded<'a>(unpacked: impl Read, otherwise: &'static str) -> Result<Cow<'a, [u8]>> {
    // One byte more, to distinguish a body that is too long from one of exactly the limit. Allocated at once: a
    // growing buffer ends up with twice the needed capacity.
    let most = UNPACKED_BYTES_MAX + 1;
    let mut whole = Vec::with_capacity(most);
    let read = unpacked.take(most as u64).read_to_end(&mut whole);
    read.map_err(|_| Error::invalid("body", otherwise))?;
    if whole.len() == most {
        let reason = format!("must be at most {UNPACKED_BYTES_MAX} bytes decompressed");
        return Err(Error::invalid("body", reason));
    }
    Ok(Cow::Owned(whole))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use http::HeaderValue;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        zstd::encode_all(plain, 1).unwrap()
    }

    #[test]
    fn a_compressed_body_is_decompressed() {
        let longest = vec![b'x'; UNPACKED_BYTES_MAX];
        for plain in [b"".as_slice(), b"a\nb\n", &longest] {
            assert_eq!(&*ContentEncoding::Plain.decompress(plain).unwrap(), plain);
            assert_eq!(&*ContentEncoding::Gzip.decompress(&gzip(plain)).unwrap(), plain);
            assert_eq!(&*ContentEncoding::Zstd.decompress(&zstd(plain)).unwrap(), plain);
        }
        let members = [gzip(b"a\n"), gzip(b"b\n")].concat();
        assert_eq!(&*ContentEncoding::Gzip.decompress(&members).unwrap(), b"a\nb\n");
    }

    #[test]
    fn a_decompression_bomb_is_refused_before_it_exceeds_the_limit() {
        let zeros = vec![0; 64 << 20];
        for (packing, bomb) in
            [(ContentEncoding::Gzip, gzip(&zeros)), (ContentEncoding::Zstd, zstd(&zeros))]
        {
            let refused = packing.decompress(&bomb).unwrap_err().to_string();
            assert_eq!(refused, "body: must be at most 4194304 bytes decompressed");
        }
    }

    #[test]
    fn a_truncated_or_wrongly_declared_body_is_refused() {
        let (gzip, zstd) = (gzip(&[7; 1000]), zstd(&[7; 1000]));
        for (packing, body) in [
            (ContentEncoding::Gzip, &gzip[..gzip.len() - 1]),
            (ContentEncoding::Gzip, &zstd),
            (ContentEncoding::Zstd, &zstd[..zstd.len() - 1]),
            (ContentEncoding::Zstd, &gzip),
            (ContentEncoding::Gzip, b"{\"time\":1}".as_slice()),
            (ContentEncoding::Zstd, b"{\"time\":1}"),
        ] {
            assert!(packing.decompress(body).is_err(), "{packing:?} {body:?}");
        }
    }

    #[test]
    fn only_known_encodings_are_accepted() {
        let of = |said: &'static [&'static str]| {
            let said =
                said.iter().map(|said| (header::CONTENT_ENCODING, HeaderValue::from_static(said)));
            let mut headers = HeaderMap::new();
            said.for_each(|(name, value)| {
                headers.append(name, value);
            });
            ContentEncoding::of(&headers).ok()
        };
        assert_eq!(
            (of(&[]), of(&["identity"])),
            (Some(ContentEncoding::Plain), Some(ContentEncoding::Plain))
        );
        assert_eq!(
            (of(&["GZIP"]), of(&["zstd"])),
            (Some(ContentEncoding::Gzip), Some(ContentEncoding::Zstd))
        );
        for said in [&["br"][..], &["gzip, zstd"], &["gzip", "gzip"], &[""]] {
            assert_eq!(of(said), None, "{said:?}");
        }
    }
}
