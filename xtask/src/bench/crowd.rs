//! A crowd that means ill: connections that idle, send their head byte by byte, never read what they
//! asked for, or pour bodies without end. One thread that mostly sleeps, so that it takes little from
//! the server that is measured beside it.

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

/// Who is in the crowd, and how many of them.
const MEMBERS: [(Manner, usize); 4] =
    [(Manner::Idle, 5_500), (Manner::SlowHead, 4_000), (Manner::Deaf, 200), (Manner::Pouring, 200)];

/// All of them: with the healthy clients, as many as Lodge takes at once by default.
pub(crate) const SIZE: usize = 9_900;

/// Every member acts once in [`ROUNDS`] of these, about once a second; a broken connection is replaced then.
/// Short rounds, so that the crowd's own work comes in no bursts.
const ROUND: Duration = Duration::from_millis(5);
const ROUNDS: usize = 200;

/// A piece of a body.
const BODY: &[u8] = &[b' '; 64 * 1024];

/// What a member does with its connection.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Nothing.
    Idle,
    /// A byte a second of a head that never ends.
    SlowHead,
    /// Asks fifty times for the largest page, and reads none of it.
    Deaf,
    /// Announces 2 GB of body, and sends them.
    Pouring,
}

/// The crowd, until this is dropped.
pub(crate) struct Crowd {
    stop: Arc<AtomicBool>,
    connected: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Sends it to a server.
    pub(crate) fn gather(server: SocketAddr) -> Result<Self> {
        let (stop, connected) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let thread = thread::Builder::new().name("crowd".into()).spawn({
            let (stop, connected) = (Arc::clone(&stop), Arc::clone(&connected));
            move || mill_about(server, &stop, &connected)
        });
        let thread = Some(thread.context("the crowd's thread cannot be started")?);
        Ok(Self { stop, connected, thread })
    }

    /// How many have a connection.
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

fn mill_about(server: SocketAddr, stop: &AtomicBool, connected: &AtomicUsize) {
    let manners = MEMBERS.iter().flat_map(|&(manner, count)| std::iter::repeat_n(manner, count));
    let mut members: Vec<(Manner, Option<TcpStream>)> =
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

impl Manner {
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
            Self::Deaf => b"GET /api/docs HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".repeat(50),
            Self::Pouring => b"POST /api/links HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n".to_vec(),
        }
    }

    /// Fails when the server is through with this one.
    fn go_on(self, stream: &TcpStream) -> std::io::Result<()> {
        match self {
            Self::Idle => is_open(stream),
            Self::SlowHead => is_open(stream).and_then(|()| send(stream, b"a")),
            // To look would be to read.
            Self::Deaf => stream.take_error()?.map_or(Ok(()), Err),
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
