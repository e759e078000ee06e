//! A crowd of hostile connections: they idle, send their head byte by byte, never read the answers, or send
//! endless bodies. One mostly sleeping thread, so that it takes little CPU from the measured server.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};

/// The connections of the crowd, by behaviour.
const MEMBERS: [(Behaviour, usize); 4] = [
    (Behaviour::Idle, 5_500),
    (Behaviour::SlowHead, 4_000),
    (Behaviour::NeverReads, 200),
    (Behaviour::Pouring, 200),
];

/// The size of the crowd: with the healthy clients, as many as Lodge accepts by default.
pub(crate) const SIZE: usize = 9_900;

/// Every connection acts once in [`ROUNDS`] of these, about once a second; a broken one is replaced then.
/// Rounds are short to avoid bursts of the crowd's own work.
const ROUND: Duration = Duration::from_millis(5);
const ROUNDS: usize = 200;

/// A piece of a body.
const BODY: &[u8] = &[b' '; 64 * 1024];

/// The behaviour of a connection.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    /// Sends nothing.
    Idle,
    /// Sends a byte a second of an endless head.
    SlowHead,
    /// Requests the largest page fifty times, and reads nothing.
    NeverReads,
    /// Announces a body of 2 GB, and sends it.
    Pouring,
}

/// The running crowd, which is stopped on drop.
pub(crate) struct Crowd {
    stop: Arc<AtomicBool>,
    connected: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Starts connecting to a server.
    pub(crate) fn start(server: SocketAddr) -> Result<Self> {
        let (stop, connected) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let thread = thread::Builder::new().name("crowd".into()).spawn({
            let (stop, connected) = (Arc::clone(&stop), Arc::clone(&connected));
            move || run_crowd(server, &stop, &connected)
        });
        let thread = Some(thread.context("the crowd's thread cannot be started")?);
        Ok(Self { stop, connected, thread })
    }

    /// The number of open connections.
    pub(crate) fn connected(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_crowd(server: SocketAddr, stop: &AtomicBool, connected: &AtomicUsize) {
    let manners = MEMBERS.iter().flat_map(|&(manner, count)| std::iter::repeat_n(manner, count));
    let mut members: Vec<(Behaviour, Option<TcpStream>)> =
        manners.map(|manner| (manner, None)).collect();
    for round in (0..ROUNDS).cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        for (manner, connection) in members.iter_mut().skip(round).step_by(ROUNDS) {
            *connection = match connection.take() {
                Some(stream) => manner.go_on(&stream).is_ok().then_some(stream),
                None => manner.begin(server).ok(),
            };
        }
        let there = members.iter().filter(|(_, connection)| connection.is_some()).count();
        connected.store(there, Ordering::Relaxed);
        thread::sleep(ROUND);
    }
}

impl Behaviour {
    fn begin(self, server: SocketAddr) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_nonblocking(true)?;
        stream.write_all(&self.greeting())?;
        Ok(stream)
    }

    fn greeting(self) -> Vec<u8> {
        match self {
            Self::Idle => vec![],
            Self::SlowHead => b"GET /r0 HTTP/1.1\r\nHost: a\r\nX-Slow: ".to_vec(),
            Self::NeverReads => b"GET /api/docs HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".repeat(50),
            Self::Pouring => b"POST /api/links HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n".to_vec(),
        }
    }

    /// Continues; fails when the server has closed the connection.
    fn go_on(self, stream: &TcpStream) -> std::io::Result<()> {
        match self {
            Self::Idle => is_open(stream),
            Self::SlowHead => is_open(stream).and_then(|()| send(stream, b"a")),
            // A check by reading would consume the answer.
            Self::NeverReads => stream.take_error()?.map_or(Ok(()), Err),
            Self::Pouring => is_open(stream).and_then(|()| send(stream, BODY)),
        }
    }
}

fn is_open(mut stream: &TcpStream) -> std::io::Result<()> {
    match stream.read(&mut [0; 1024]) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

fn send(mut stream: &TcpStream, piece: &[u8]) -> std::io::Result<()> {
    match stream.write(piece) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}
