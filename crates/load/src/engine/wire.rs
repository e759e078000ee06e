//! One client connection: dials, sends prepared bytes, reads the response, and measures the cost.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::net::TcpStream;

use super::client::Client;
use super::outcome::{ErrorKind, WriteOutcome};
use crate::http::http1::{Answer, Decoder};

/// The size of the read buffer in bytes.
const READ_BYTES: usize = 16 * 1024;

/// A read buffer shared by all connections of a thread; never borrowed across an await.
pub(crate) type Scratch = RefCell<Box<[u8]>>;

pub(crate) fn scratch() -> Scratch {
    RefCell::new(vec![0; READ_BYTES].into_boxed_slice())
}

/// Why there is no response, and the operating system's text for the error.
type Failure = (ErrorKind, Option<String>);

const LOST: Failure = (ErrorKind::Reset, None);

/// The result of sending a request once.
#[derive(Debug)]
pub(crate) struct SendResult {
    pub(crate) status: Result<u16, ErrorKind>,
    /// The operating system's text for an error.
    pub(crate) detail: Option<String>,
    /// Whether any byte left the client.
    pub(crate) sent: bool,
    /// The response's `Retry-After`, in seconds.
    pub(crate) retry_after_s: Option<u64>,
}

impl SendResult {
    /// Returns an error unless the status is `wanted`.
    pub(crate) fn expect(&self, wanted: u16) -> Result<(), ErrorKind> {
        match self.status {
            Ok(status) if status == wanted => Ok(()),
            Ok(status) => Err(ErrorKind::Status(status)),
            Err(error) => Err(error),
        }
    }

    /// Returns the outcome of a write whose response was judged as `result`.
    pub(crate) fn outcome(&self, result: Result<(), ErrorKind>) -> WriteOutcome {
        WriteOutcome::of(result, self.sent)
    }
}

/// The cost of all tries of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// From the last try's first byte sent to the first byte of its response.
    pub(crate) wait: Option<Duration>,
    /// Connect time; `None` if an open connection was used.
    pub(crate) connect: Option<Duration>,
    /// Bytes written to the socket.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

/// A connection that is dialled on demand, with its request buffer.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    address: SocketAddr,
    keep: bool,
    timeout: Duration,
    stream: Option<TcpStream>,
    decoder: Decoder,
    scratch: Rc<Scratch>,
    pub(crate) request: Vec<u8>,
    /// The request is a HEAD, whose response has no body.
    pub(crate) head_only: bool,
    cost: Cost,
}

impl HttpConnection {
    /// A connection that is not dialled yet. `scratch` is its thread's buffer.
    pub(crate) fn new(client: &Client, address: SocketAddr, scratch: Rc<Scratch>) -> Self {
        Self {
            address,
            keep: client.keep,
            timeout: client.timeout,
            stream: None,
            decoder: Decoder::new(client.kept),
            scratch,
            request: Vec::with_capacity(512),
            head_only: false,
            cost: Cost::default(),
        }
    }

    /// Dials ahead of the first request if connections are kept alive. If that fails or times out, the first
    /// request dials.
    pub(crate) async fn prepare(&mut self) {
        if self.keep {
            let dialled = tokio::time::timeout(self.timeout, dial(self.address)).await;
            self.stream = dialled.ok().and_then(Result::ok);
        }
    }

    /// Returns the decoder of the last response.
    pub(crate) fn answered(&self) -> &Decoder {
        &self.decoder
    }

    /// Takes the cost since the last call.
    pub(crate) fn take_cost(&mut self) -> Cost {
        std::mem::take(&mut self.cost)
    }

    /// Sends the request and waits for its response, at most the timeout from `began`. An error closes the
    /// connection; the next request dials again.
    pub(crate) async fn send(&mut self, began: Instant) -> SendResult {
        self.cost.wait = None;
        let sent_before = self.cost.sent_bytes;
        let deadline = tokio::time::Instant::from_std(began + self.timeout);
        let answered = tokio::time::timeout_at(deadline, self.exchange(began)).await;
        let answered = answered.unwrap_or(Err((ErrorKind::Timeout, None)));
        if !self.keep || !answered.as_ref().is_ok_and(|answer| answer.keep_alive) {
            self.stream = None;
        }
        let (status, detail) = match answered {
            Ok(answer) => (Ok(answer.status), None),
            Err((kind, detail)) => (Err(kind), detail),
        };
        let retry_after_s = status.ok().and_then(|_| self.decoder.retry_after_s());
        SendResult { status, detail, sent: self.cost.sent_bytes > sent_before, retry_after_s }
    }

    async fn exchange(&mut self, began: Instant) -> Result<Answer, Failure> {
        self.drop_if_closed();
        let mut ready = began;
        if self.stream.is_none() {
            let refused = |error: io::Error| (ErrorKind::Connect, Some(error.to_string()));
            self.stream = Some(dial(self.address).await.map_err(refused)?);
            ready = Instant::now();
            self.cost.connect = Some(ready - began);
        }
        self.converse(ready).await
    }

    /// Drops a kept connection that the server closed while it was idle: that is no error of this request.
    /// Costs no system call unless the kernel has reported an event.
    fn drop_if_closed(&mut self) {
        if let Some(stream) = &self.stream {
            match stream.try_read(&mut self.scratch.borrow_mut()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => self.stream = None,
            }
        }
    }

    /// Sends the request and reads the response. `ready`: when the connection was established.
    async fn converse(&mut self, ready: Instant) -> Result<Answer, Failure> {
        let Some(stream) = &self.stream else { return Err(LOST) };
        self.decoder.begin(self.head_only);
        let mut left = &self.request[..];
        let mut unsent = false;
        loop {
            if left.is_empty() {
                stream.readable().await.map_err(|_| LOST)?;
            } else {
                match stream.try_write(left) {
                    Ok(written) => {
                        self.cost.sent_bytes += written as u64;
                        left = &left[written..];
                        continue;
                    }
                    // A server that refuses a long body may respond before it has read all of it.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let either = Interest::READABLE | Interest::WRITABLE;
                        stream.ready(either).await.map_err(|_| LOST)?;
                    }
                    Err(_) => {
                        unsent = true;
                        left = &[];
                    }
                }
            }
            let count = match stream.try_read(&mut self.scratch.borrow_mut()) {
                Ok(0) => return self.decoder.close().map_err(|_| LOST),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return Err(LOST),
            };
            self.cost.wait.get_or_insert_with(|| ready.elapsed());
            self.cost.received_bytes += count as u64;
            let fed = self.decoder.feed(&self.scratch.borrow()[..count]);
            let fed = fed.map_err(|error| (ErrorKind::Malformed, Some(error.to_string())))?;
            if let Some(mut answer) = fed {
                answer.keep_alive &= left.is_empty() && !unsent;
                return Ok(answer);
            }
        }
    }
}

pub(crate) async fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
