//! Frames: a length of four bytes, big-endian, then JSON of that many bytes.

use std::{io::ErrorKind, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::mpsc::Receiver,
    time::timeout,
};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

/// The longest frame, in bytes without the length field: enough for the largest call and reply, an export.
pub const FRAME_BYTES_MAX: usize = 2 << 20;

/// The longest frame of an unauthenticated connection, in bytes.
const HANDSHAKE_FRAME_BYTES_MAX: usize = 1 << 10;

/// The receiving half of a connection.
pub(crate) type Incoming = FramedRead<Box<dyn AsyncRead + Send + Unpin>, LengthDelimitedCodec>;
/// The sending half of a connection.
pub(crate) type Outgoing = FramedWrite<Box<dyn AsyncWrite + Send + Unpin>, LengthDelimitedCodec>;

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("the peer closed the connection")]
    Closed,
    #[error("timed out: the peer sent nothing")]
    ReadTimeout,
    #[error("timed out: the peer did not read")]
    WriteTimeout,
    #[error("the peer sent an invalid message: {0}")]
    InvalidMessage(serde_json::Error),
    #[error("the peer refused the connection: {0}")]
    Refused(String),
    #[error("refused the connection: {0}")]
    Rejected(&'static str),
    #[error("the peer does not speak TLS")]
    NoTls,
    #[error("TLS handshake failed: {0}")]
    Tls(std::io::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl ConnectionError {
    /// Whether the peer only disconnected. TCP reports a reset if the peer had not read everything.
    pub(crate) fn is_disconnect(&self) -> bool {
        use ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
        match self {
            Self::Closed => true,
            Self::Io(error) => {
                matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
            }
            _ => false,
        }
    }
}

/// Creates the codec of frames; a frame longer than [`FRAME_BYTES_MAX`] is an error.
pub fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_BYTES_MAX).new_codec()
}

/// Splits a connection into its halves. Only short frames are accepted until [`trust`].
pub(crate) fn split(stream: TcpStream) -> (Incoming, Outgoing) {
    let (read, write) = stream.into_split();
    framed(Box::new(read), Box::new(write))
}

/// Splits a TLS connection into its halves, as [`split`].
pub(crate) fn split_tls(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
) -> (Incoming, Outgoing) {
    let (read, write) = tokio::io::split(stream);
    framed(Box::new(read), Box::new(write))
}

fn framed(
    read: Box<dyn AsyncRead + Send + Unpin>,
    write: Box<dyn AsyncWrite + Send + Unpin>,
) -> (Incoming, Outgoing) {
    let mut clients = codec();
    clients.set_max_frame_length(HANDSHAKE_FRAME_BYTES_MAX);
    (FramedRead::new(read, clients), FramedWrite::new(write, codec()))
}

/// Accepts frames of up to [`FRAME_BYTES_MAX`] from now on.
pub(crate) fn trust(frames: &mut Incoming) {
    frames.decoder_mut().set_max_frame_length(FRAME_BYTES_MAX);
}

/// Receives the next complete frame within `patience`; a partial frame is discarded.
pub(crate) async fn receive(
    frames: &mut (impl Stream<Item = std::io::Result<BytesMut>> + Unpin),
    patience: Duration,
) -> Result<BytesMut, ConnectionError> {
    match timeout(patience, frames.next()).await {
        Err(_) => Err(ConnectionError::ReadTimeout),
        Ok(None) => Err(ConnectionError::Closed),
        // The peer closed TCP without a TLS `close_notify`.
        Ok(Some(Err(error))) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(ConnectionError::Closed)
        }
        Ok(Some(frame)) => Ok(frame?),
    }
}

/// Receives the next frame and parses its JSON.
pub(crate) async fn receive_as<T: DeserializeOwned>(
    frames: &mut (impl Stream<Item = std::io::Result<BytesMut>> + Unpin),
    patience: Duration,
) -> Result<T, ConnectionError> {
    serde_json::from_slice(&receive(frames, patience).await?)
        .map_err(ConnectionError::InvalidMessage)
}

/// Serialises a message to the bytes of a frame.
pub(crate) fn written(message: &impl Serialize) -> Bytes {
    // Never fails: all map keys of our types are strings.
    serde_json::to_vec(message).map(Bytes::from).unwrap_or_default()
}

/// Sends a frame and all queued frames with one flush, within `patience`.
pub(crate) async fn send_together(
    frames: &mut (impl Sink<Bytes, Error = std::io::Error> + Unpin),
    first: Bytes,
    waiting: &mut Receiver<Bytes>,
    patience: Duration,
) -> Result<(), ConnectionError> {
    let together = async {
        frames.feed(first).await?;
        while let Ok(next) = waiting.try_recv() {
            frames.feed(next).await?;
        }
        frames.flush().await
    };
    taken(together, patience).await
}

/// Sends the last frame and closes this direction, each within `patience`.
pub(crate) async fn send_last(
    frames: &mut Outgoing,
    frame: Bytes,
    patience: Duration,
) -> Result<(), ConnectionError> {
    send(frames, frame, patience).await?;
    taken(SinkExt::<Bytes>::close(frames), patience).await
}

/// Sends and flushes a frame within `patience`.
pub(crate) async fn send(
    frames: &mut (impl Sink<Bytes, Error = std::io::Error> + Unpin),
    frame: Bytes,
    patience: Duration,
) -> Result<(), ConnectionError> {
    taken(frames.send(frame), patience).await
}

/// Fails with a timeout unless `sending` completes within `patience`.
async fn taken(
    sending: impl Future<Output = std::io::Result<()>>,
    patience: Duration,
) -> Result<(), ConnectionError> {
    Ok(timeout(patience, sending).await.map_err(|_| ConnectionError::WriteTimeout)??)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio_util::codec::{Decoder, Encoder};

    use super::*;

    /// Decodes bytes that arrive in pieces of these lengths, repeated cyclically.
    fn received(bytes: &[u8], pieces: &[usize]) -> Vec<Vec<u8>> {
        let (mut codec, mut left, mut frames) = (codec(), BytesMut::new(), Vec::new());
        let (mut bytes, mut pieces) = (bytes, pieces.iter().cycle());
        while !bytes.is_empty() {
            let piece = pieces.next().map_or(bytes.len(), |piece| (*piece).min(bytes.len()));
            left.extend_from_slice(&bytes[..piece]);
            bytes = &bytes[piece..];
            while let Some(frame) = codec.decode(&mut left).unwrap() {
                frames.push(frame.to_vec());
            }
        }
        frames
    }

    proptest! {
        #[test]
        fn frames_are_decoded_from_pieces_of_any_length(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            pieces in prop::collection::vec(1..200_usize, 0..8),
            cut in 0..8_usize,
        ) {
            let mut bytes = BytesMut::new();
            for frame in &frames {
                codec().encode(Bytes::from(frame.clone()), &mut bytes).unwrap();
            }
            prop_assert_eq!(&received(&bytes, &pieces), &frames);
            // A truncated last frame is not decoded.
            if let Some(last) = frames.last() {
                let cut = cut.clamp(1, last.len() + 4);
                let all_but_last = &frames[..frames.len() - 1];
                prop_assert_eq!(received(&bytes[..bytes.len() - cut], &pieces), all_but_last);
            }
        }

        #[test]
        fn a_frame_that_is_too_long_is_refused_by_its_length_alone(more in 1..u32::MAX / 2) {
            let length = u32::try_from(FRAME_BYTES_MAX).unwrap() + more;
            let mut bytes = BytesMut::from(&length.to_be_bytes()[..]);
            prop_assert!(codec().decode(&mut bytes).is_err());
        }
    }
}
