//! How a body is packed, and what it unpacks to.

use std::{borrow::Cow, io::Read};

use flate2::read::MultiGzDecoder;
use http::{HeaderMap, header};
use lodge_domain::{Error, Result};
use zstd::Decoder;

/// The longest that a body unpacks to, in bytes: 10,000 lines of 400, four times what a ride with an id
/// of its own needs.
const UNPACKED_BYTES_MAX: usize = 4 << 20;

/// The longest window of zstd, as a power of two: what RFC 9659 has everybody take who takes zstd.
const WINDOW_LOG_MAX: u32 = 23;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// It is not.
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// What `Content-Encoding` says.
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
        packing.ok_or_else(|| Error::invalid("Content-Encoding", "must be gzip or zstd, or none"))
    }

    /// The body as it was before it was packed. No more is kept of it than may be, whatever it unpacks to.
    pub(super) fn unpack(self, body: &[u8]) -> Result<Cow<'_, [u8]>> {
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
    // One byte more, so that a body that is too long is told from one of just that length; and made at
    // once, because one that grows has twice what it needs in the end.
    let most = UNPACKED_BYTES_MAX + 1;
    let mut whole = Vec::with_capacity(most);
    let read = unpacked.take(most as u64).read_to_end(&mut whole);
    read.map_err(|_| Error::invalid("body", otherwise))?;
    if whole.len() == most {
        let reason = format!("must be at most {UNPACKED_BYTES_MAX} bytes unpacked");
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
    fn what_was_packed_is_unpacked() {
        let longest = vec![b'x'; UNPACKED_BYTES_MAX];
        for plain in [b"".as_slice(), b"a\nb\n", &longest] {
            assert_eq!(&*Packing::Plain.unpack(plain).unwrap(), plain);
            assert_eq!(&*Packing::Gzip.unpack(&gzip(plain)).unwrap(), plain);
            assert_eq!(&*Packing::Zstd.unpack(&zstd(plain)).unwrap(), plain);
        }
        let members = [gzip(b"a\n"), gzip(b"b\n")].concat();
        assert_eq!(&*Packing::Gzip.unpack(&members).unwrap(), b"a\nb\n");
    }

    #[test]
    fn a_bomb_is_refused_before_it_takes_more_memory_than_a_body_may() {
        let zeros = vec![0; 64 << 20];
        for (packing, bomb) in [(Packing::Gzip, gzip(&zeros)), (Packing::Zstd, zstd(&zeros))] {
            let refused = packing.unpack(&bomb).unwrap_err().to_string();
            assert_eq!(refused, "body: must be at most 4194304 bytes unpacked");
        }
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        let (gzip, zstd) = (gzip(&[7; 1000]), zstd(&[7; 1000]));
        for (packing, body) in [
            (Packing::Gzip, &gzip[..gzip.len() - 1]),
            (Packing::Gzip, &zstd),
            (Packing::Zstd, &zstd[..zstd.len() - 1]),
            (Packing::Zstd, &gzip),
            (Packing::Gzip, b"{\"time\":1}".as_slice()),
            (Packing::Zstd, b"{\"time\":1}"),
        ] {
            assert!(packing.unpack(body).is_err(), "{packing:?} {body:?}");
        }
    }

    #[test]
    fn only_known_packings_are_taken() {
        let of = |said: &'static [&'static str]| {
            let said =
                said.iter().map(|said| (header::CONTENT_ENCODING, HeaderValue::from_static(said)));
            let mut headers = HeaderMap::new();
            said.for_each(|(name, value)| {
                headers.append(name, value);
            });
            Packing::of(&headers).ok()
        };
        assert_eq!((of(&[]), of(&["identity"])), (Some(Packing::Plain), Some(Packing::Plain)));
        assert_eq!((of(&["GZIP"]), of(&["zstd"])), (Some(Packing::Gzip), Some(Packing::Zstd)));
        for said in [&["br"][..], &["gzip, zstd"], &["gzip", "gzip"], &[""]] {
            assert_eq!(of(said), None, "{said:?}");
        }
    }
}
