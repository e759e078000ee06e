//! The PROXY protocol, version 2: a balancer that forwards bytes begins each connection with the address of its client.
//! <https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt>

use std::{
    io::{Error, ErrorKind, Result},
    net::SocketAddr,
};

use ppp::v2::{Addresses, Command, Header, ParseError, Protocol};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The length of the part of a header that every header has, in bytes.
const FIXED_BYTES: usize = 16;

/// The longest header accepted, in bytes: what fits into the smallest TCP segment, as the specification recommends.
const HEADER_BYTES_MAX: usize = 536;

/// From where a proxy forwards a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// From nowhere: the proxy itself connects, to check this server.
    Proxy,
    /// From a client at this address.
    Client(SocketAddr),
    /// From a client without an internet address, such as one at a Unix socket.
    Unknown,
}

/// Reads a header, and not one byte more. Its extensions are skipped.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`] if the bytes are not a header of version 2, or a longer one than accepted;
/// [`ErrorKind::UnexpectedEof`] if the connection ends before the header does.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Source> {
    let mut bytes = [0; HEADER_BYTES_MAX];
    stream.read_exact(&mut bytes[..FIXED_BYTES]).await?;
    let rest = match Header::try_from(&bytes[..FIXED_BYTES]) {
        Ok(_) => 0,
        Err(ParseError::Partial(_, rest)) => rest,
        Err(error) => return Err(Error::new(ErrorKind::InvalidData, error)),
    };
    let too_long =
        || Error::new(ErrorKind::InvalidData, format!("a header with {rest} more bytes"));
    let header = bytes.get_mut(..FIXED_BYTES + rest).ok_or_else(too_long)?;
    stream.read_exact(&mut header[FIXED_BYTES..]).await?;
    let header =
        Header::try_from(&*header).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    Ok(match (header.command, header.protocol, header.addresses) {
        (Command::Local, ..) => Source::Proxy,
        (Command::Proxy, Protocol::Stream, Addresses::IPv4(ends)) => {
            Source::Client((ends.source_address, ends.source_port).into())
        }
        (Command::Proxy, Protocol::Stream, Addresses::IPv6(ends)) => {
            Source::Client((ends.source_address, ends.source_port).into())
        }
        (Command::Proxy, ..) => Source::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

    /// Returns a header with this version and command, family and protocol, and payload.
    fn header([command, family]: [u8; 2], payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, payload].concat()
    }

    /// Reads a header. Returns it with the bytes after it, or the kind of the error.
    fn read_all(bytes: &[u8]) -> std::result::Result<(Source, Vec<u8>), ErrorKind> {
        let mut rest = bytes;
        let read = super::read(&mut rest);
        let source = futures_util::FutureExt::now_or_never(read).unwrap();
        source.map(|source| (source, rest.to_vec())).map_err(|error| error.kind())
    }

    #[test]
    fn the_source_is_read_and_the_bytes_after_the_header_are_left() {
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80];
        let v6 = [&[0x20, 1, 0xd, 0xb8][..], &[0; 28], &[0x12, 0x34, 0, 80]].concat();
        let extended = [&v4[..], &[4, 0, 3, 1, 2, 3]].concat();
        let longest = [&v4[..], &[4, 2, 1], &[0; 505]].concat();
        let client = |text: &str| Source::Client(text.parse().unwrap());
        for (kind, payload, source) in [
            ([0x21, 0x11], &v4[..], client("192.0.2.1:4660")),
            ([0x21, 0x21], &v6, client("[2001:db8::]:4660")),
            ([0x21, 0x11], &extended, client("192.0.2.1:4660")),
            ([0x21, 0x11], &longest, client("192.0.2.1:4660")),
            ([0x20, 0x11], &v4, Source::Proxy),
            ([0x20, 0x00], &[], Source::Proxy),
            ([0x21, 0x00], &[], Source::Unknown),
            ([0x21, 0x31], &[0; 216], Source::Unknown),
            ([0x21, 0x12], &v4, Source::Unknown),
        ] {
            let bytes = [&header(kind, payload)[..], b"GET /"].concat();
            assert_eq!(read_all(&bytes), Ok((source, b"GET /".to_vec())), "{kind:x?}");
        }
    }

    #[test]
    fn what_is_no_header_of_bounded_length_is_an_error() {
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80];
        let too_long = header([0x21, 0x11], &[0; HEADER_BYTES_MAX - FIXED_BYTES + 1]);
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
            b"PROXY TCP4 192.0.2.1 10.0.0.1 4660 80\r\n",
            &header([0x11, 0x11], &v4),
            &header([0x22, 0x11], &v4),
            &header([0x21, 0x41], &v4),
            &header([0x21, 0x13], &v4),
            &header([0x21, 0x11], &v4[..11]),
            &too_long,
        ] {
            assert_eq!(read_all(bytes), Err(ErrorKind::InvalidData), "{bytes:?}");
        }
        let whole = header([0x21, 0x11], &v4);
        for length in 0..whole.len() {
            assert_eq!(read_all(&whole[..length]), Err(ErrorKind::UnexpectedEof), "{length}");
        }
    }

    proptest! {
        /// Any bytes after the signature are read or refused.
        #[test]
        fn any_bytes_can_be_read(rest in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = read_all(&[SIGNATURE, &rest].concat());
            let _ = read_all(&rest);
        }
    }
}
