//! Frames: four bytes of length, big-endian, and so many bytes of JSON.

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

/// The longest frame, in bytes without its length: room for the largest call and reply, an export.
pub const FRAME_BYTES_MAX: usize = 2 << 20;

/// The longest frame of whoever has not proved their key.
const STRANGER_BYTES_MAX: usize = 1 << 10;

/// Frames as they come in.
pub(crate) type Incoming = FramedRead<Box<dyn AsyncRead + Send + Unpin>, LengthDelimitedCodec>;
/// Frames as they go out.
pub(crate) type Outgoing = FramedWrite<Box<dyn AsyncWrite + Send + Unpin>, LengthDelimitedCodec>;

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the peer closed the connection")]
    Closed,
    #[error("the peer said nothing in time")]
    Silent,
    #[error("the peer took nothing in time")]
    Deaf,
    #[error("the peer sent what cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error("the peer refused: {0}")]
    Refused(String),
    #[error("the peer was refused: {0}")]
    TurnedAway(&'static str),
    #[error("the peer does not speak TLS")]
    NoTls,
    #[error("no TLS came about: {0}")]
    Tls(std::io::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Cuts bytes into frames; a longer one than may be is an error.
pub fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_BYTES_MAX).new_codec()
}

/// Both directions of a connection. Only short frames come in until [`trust`].
pub(crate) fn split(stream: TcpStream) -> (Incoming, Outgoing) {
    let (read, write) = stream.into_split();
    framed(Box::new(read), Box::new(write))
}

/// The same inside TLS.
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
    let mut strangers = codec();
    strangers.set_max_frame_length(STRANGER_BYTES_MAX);
    (FramedRead::new(read, strangers), FramedWrite::new(write, codec()))
}

/// Takes long frames from now on.
pub(crate) fn trust(frames: &mut Incoming) {
    frames.decoder_mut().set_max_frame_length(FRAME_BYTES_MAX);
}

/// The next frame, whole, within `patience`: half a frame is none.
pub(crate) async fn receive(
    frames: &mut (impl Stream<Item = std::io::Result<BytesMut>> + Unpin),
    patience: Duration,
) -> Result<BytesMut, Broken> {
    match timeout(patience, frames.next()).await {
        Err(_) => Err(Broken::Silent),
        Ok(None) => Err(Broken::Closed),
        // Within TLS, whose peer went without a word.
        Ok(Some(Err(error))) if error.kind() == ErrorKind::UnexpectedEof => Err(Broken::Closed),
        Ok(Some(frame)) => Ok(frame?),
    }
}

/// The next frame as the JSON that it should be.
pub(crate) async fn receive_as<T: DeserializeOwned>(
    frames: &mut (impl Stream<Item = std::io::Result<BytesMut>> + Unpin),
    patience: Duration,
) -> Result<T, Broken> {
    serde_json::from_slice(&receive(frames, patience).await?).map_err(Broken::Unreadable)
}

/// A message as a frame's bytes.
pub(crate) fn written(message: &impl Serialize) -> Bytes {
    // Types of ours, whose keys are strings.
    serde_json::to_vec(message).map(Bytes::from).unwrap_or_default()
}

/// Sends a frame and whatever else waits by then, all of it, within `patience`.
pub(crate) async fn send_together(
    frames: &mut (impl Sink<Bytes, Error = std::io::Error> + Unpin),
    first: Bytes,
    waiting: &mut Receiver<Bytes>,
    patience: Duration,
) -> Result<(), Broken> {
    let together = async {
        frames.feed(first).await?;
        while let Ok(next) = waiting.try_recv() {
            frames.feed(next).await?;
        }
        frames.flush().await
    };
    match timeout(patience, together).await {
        Ok(sent) => Ok(sent?),
        Err(_) => Err(Broken::Deaf),
    }
}

/// Sends the last frame, all of it, within `patience`, and closes this direction.
pub(crate) async fn send_last(
    frames: &mut Outgoing,
    frame: Bytes,
    patience: Duration,
) -> Result<(), Broken> {
    send(frames, frame, patience).await?;
    match timeout(patience, SinkExt::<Bytes>::close(frames)).await {
        Ok(closed) => Ok(closed?),
        Err(_) => Err(Broken::Deaf),
    }
}

/// Sends a frame, all of it, within `patience`.
pub(crate) async fn send(
    frames: &mut (impl Sink<Bytes, Error = std::io::Error> + Unpin),
    frame: Bytes,
    patience: Duration,
) -> Result<(), Broken> {
    match timeout(patience, frames.send(frame)).await {
        Ok(sent) => Ok(sent?),
        Err(_) => Err(Broken::Deaf),
    }
}
