//! One client connection: dials, sends prepared bytes, reads the answer.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::Interest;
use tokio::net::TcpStream;

use super::http1::{Answer, Decoder, Keep, Malformed};

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// Room for what is read, one for all connections of a thread; borrowed only between two waits.
pub(crate) type Scratch = RefCell<Box<[u8]>>;

/// An empty one.
pub(crate) fn scratch() -> Scratch {
    RefCell::new(vec![0; READ_BYTES].into_boxed_slice())
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No connection: the request was never sent.
    Connect(io::Error),
    /// The connection broke before the whole answer was here.
    Lost,
    /// What came is not HTTP/1.1.
    Malformed(Malformed),
}

/// When the parts of one exchange happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    /// When a new connection was there; `None` when the old one was used.
    pub(crate) connected: Option<Instant>,
    /// The first bytes of the answer.
    pub(crate) first_byte: Option<Instant>,
    /// Bytes of the request handed to the kernel.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Marks {
    const NONE: Self = Self { connected: None, first_byte: None, sent_bytes: 0, received_bytes: 0 };
}

/// A connection that dials itself when needed. Not usable for two requests at once.
#[derive(Debug)]
pub(crate) struct Connection {
    address: SocketAddr,
    keep: bool,
    stream: Option<TcpStream>,
    decoder: Decoder,
    pub(crate) marks: Marks,
}

impl Connection {
    /// Not dialled yet. `keep`: used again for the next request; `kept`: what of an answer stays.
    pub(crate) fn new(address: SocketAddr, keep: bool, kept: Keep) -> Self {
        Self { address, keep, stream: None, decoder: Decoder::new(kept), marks: Marks::NONE }
    }

    /// Dials ahead of the first request, if the connection is one that is kept.
    pub(crate) async fn prepare(&mut self) -> io::Result<()> {
        if self.keep && self.stream.is_none() {
            self.stream = Some(dial(self.address).await?);
        }
        Ok(())
    }

    /// What is known of the last answer.
    pub(crate) fn answered(&self) -> &Decoder {
        &self.decoder
    }

    /// Gives up the exchange under way, as after a timeout.
    pub(crate) fn abandon(&mut self) {
        self.stream = None;
    }

    /// Forgets the last exchange. Separate from `exchange`, so that a future that was never polled leaves no old marks.
    pub(crate) fn reset(&mut self) {
        self.marks = Marks::NONE;
    }

    /// Sends `request` and reads its answer. On an error the connection is gone; the next call dials anew.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        head_only: bool,
        scratch: &Scratch,
    ) -> Result<Answer, Failure> {
        self.reset();
        self.drop_if_closed(scratch);
        if self.stream.is_none() {
            self.stream = Some(dial(self.address).await.map_err(Failure::Connect)?);
            self.marks.connected = Some(Instant::now());
        }
        let outcome = self.converse(request, head_only, scratch).await;
        if !self.keep || !outcome.as_ref().is_ok_and(|answer| answer.keep_alive) {
            self.stream = None;
        }
        outcome
    }

    /// A kept connection that the server closed while it lay idle is no error of this request.
    /// Costs no system call unless the kernel has reported something.
    fn drop_if_closed(&mut self, scratch: &Scratch) {
        if let Some(stream) = &self.stream {
            match stream.try_read(&mut scratch.borrow_mut()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => self.stream = None,
            }
        }
    }

    async fn converse(
        &mut self,
        request: &[u8],
        head_only: bool,
        scratch: &Scratch,
    ) -> Result<Answer, Failure> {
        let Some(stream) = &self.stream else { return Err(Failure::Lost) };
        self.decoder.begin(head_only);
        let mut left = request;
        let mut unsent = false;
        loop {
            if left.is_empty() {
                stream.readable().await.map_err(|_| Failure::Lost)?;
            } else {
                match stream.try_write(left) {
                    Ok(written) => {
                        self.marks.sent_bytes += written as u64;
                        left = &left[written..];
                        continue;
                    }
                    // A server that refuses a long body may answer before it has all of it.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let either = Interest::READABLE | Interest::WRITABLE;
                        stream.ready(either).await.map_err(|_| Failure::Lost)?;
                    }
                    Err(_) => {
                        unsent = true;
                        left = &[];
                    }
                }
            }
            let count = match stream.try_read(&mut scratch.borrow_mut()) {
                Ok(0) => return self.decoder.close().map_err(|_| Failure::Lost),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return Err(Failure::Lost),
            };
            if self.marks.first_byte.is_none() {
                self.marks.first_byte = Some(Instant::now());
            }
            self.marks.received_bytes += count as u64;
            let fed = self.decoder.feed(&scratch.borrow()[..count]).map_err(Failure::Malformed)?;
            if let Some(mut answer) = fed {
                answer.keep_alive &= left.is_empty() && !unsent;
                return Ok(answer);
            }
        }
    }
}

async fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
