//! The connections of a flood, on one thread that may use half of a core.

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use socket2::{Domain, Socket, Type};

use super::flood::{ADDRESSES, Flood};

/// The share of a core that the flood may use.
const SHARE: f64 = 0.5;

/// The CPU time by which a thread may be ahead of its share. A round over thousands of connections takes longer than a
/// time slice of the scheduler: without pauses within a round, the flood would occupy a whole core while it opens them.
const AHEAD: Duration = Duration::from_millis(1);

/// The CPU time by which a thread that had to wait may be behind its share, to use it later.
const BEHIND: Duration = Duration::from_millis(5);

/// The pause between two rounds over all connections.
const PAUSE: Duration = Duration::from_millis(1);

/// The most bytes of one write. On one machine the kernel delivers a write on the sender's core, without a pause.
const WRITE_MAX: usize = 64 * 1024;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// A running flood.
pub(super) struct Flooder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Counts>,
    flood: Flood,
}

/// What a flood has done.
#[derive(Default)]
struct Counts {
    /// The share of a core that was used.
    share: f64,
    opened: u64,
    failed: u64,
    /// The complete answers by status; a connection that sends nothing gets an answer if it is refused.
    answers: BTreeMap<u16, u64>,
}

impl Counts {
    /// Fails unless the flood had an effect: connections were opened, and requests served if it sends complete ones.
    fn check(&self, repeats: bool) -> Result<()> {
        ensure!(self.opened > 0, "no connection was opened");
        ensure!(!repeats || self.answers.contains_key(&200), "no request was served");
        Ok(())
    }
}

impl Flooder {
    /// Starts a flood; each address has a session of its own.
    pub(super) fn start(flood: Flood, server: SocketAddr, tokens: &[&str]) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let requests: Vec<(Ipv4Addr, Vec<u8>)> = (0..ADDRESSES)
            .zip(tokens)
            .map(|(number, token)| (Ipv4Addr::new(127, 0, 0, 2 + number), flood.request(token)))
            .collect();
        let run = {
            let stop = Arc::clone(&stop);
            move || flood_until(&stop, server, flood, &requests)
        };
        let thread = thread::Builder::new().name("flood".into()).spawn(run)?;
        Ok(Self { stop, thread, flood })
    }

    /// Stops it, and prints what it did; fails if it had no effect. Returns the share of a core that it used.
    pub(super) fn stop(self) -> Result<f64> {
        self.stop.store(true, Ordering::Relaxed);
        let counts = self.thread.join().ok().context("the flood has panicked")?;
        let (Counts { share, opened, failed, answers }, name) = (&counts, self.flood.name());
        println!(
            "{name}: {share:.2} of a core; {opened} connections opened, {failed} not; answers by status: {answers:?}"
        );
        counts.check(self.flood.repeats()).context(name)?;
        Ok(*share)
    }
}

/// Keeps the connections of each address open until `stop`.
fn flood_until(
    stop: &AtomicBool,
    server: SocketAddr,
    flood: Flood,
    requests: &[(Ipv4Addr, Vec<u8>)],
) -> Counts {
    let (mut counts, repeats) = (Counts::default(), flood.repeats());
    let each = flood.connections() / u32::from(ADDRESSES);
    let all = requests.iter().flat_map(|address| (0..each).map(move |_| address));
    let mut members: Vec<Member<'_>> =
        all.map(|(from, request)| Member { from: *from, request, repeats, open: None }).collect();
    let (began, used_before, mut share) = (Instant::now(), cpu_time(), Share::new(SHARE));
    while !stop.load(Ordering::Relaxed) {
        for member in &mut members {
            member.go_on(server, &mut counts);
            share.keep();
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        thread::sleep(PAUSE);
    }
    let used = cpu_time().saturating_sub(used_before);
    counts.share = used.as_secs_f64() / began.elapsed().as_secs_f64();
    counts
}

/// Holds a thread to a share of a core.
struct Share {
    of_a_core: f64,
    /// The start of the time of which the thread may use its share.
    since: Instant,
    used_before: Duration,
}

impl Share {
    fn new(of_a_core: f64) -> Self {
        Self { of_a_core, since: Instant::now(), used_before: cpu_time() }
    }

    /// Sleeps if this thread is ahead of its share, until it no longer is.
    fn keep(&mut self) {
        let used = cpu_time().saturating_sub(self.used_before);
        let allowed = self.since.elapsed().mul_f64(self.of_a_core);
        let (ahead, behind) = (used.saturating_sub(allowed), allowed.saturating_sub(used));
        if ahead > AHEAD {
            thread::sleep(ahead.div_f64(self.of_a_core));
        }
        self.since += behind.saturating_sub(BEHIND).div_f64(self.of_a_core);
    }
}

/// A thread that uses a share of a core, but connects to no server.
pub(super) struct BusyThread {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl BusyThread {
    pub(super) fn start(of_a_core: f64) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let run = move || {
            let mut share = Share::new(of_a_core);
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
                share.keep();
            }
        };
        let thread = thread::Builder::new().name("busy".into()).spawn(run)?;
        Ok(Self { stop, thread })
    }

    pub(super) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok().context("the busy thread has panicked")
    }
}

/// A connection that is replaced when the server closes it.
struct Member<'a> {
    from: Ipv4Addr,
    request: &'a [u8],
    repeats: bool,
    open: Option<Open>,
}

/// An open connection.
struct Open {
    stream: TcpStream,
    /// The bytes of the request that are sent.
    sent: usize,
    /// The received part of an answer.
    received: Vec<u8>,
}

impl Member<'_> {
    fn go_on(&mut self, server: SocketAddr, counts: &mut Counts) {
        if let Some(open) = self.open.take() {
            self.open = self.exchange(open, counts);
        } else if let Ok(stream) = connect(self.from, server) {
            counts.opened += 1;
            self.open = Some(Open { stream, sent: 0, received: Vec::new() });
        } else {
            counts.failed += 1;
        }
    }

    /// Reads and sends as much as goes without waiting; returns the connection unless it is closed.
    fn exchange(&self, mut open: Open, counts: &mut Counts) -> Option<Open> {
        let mut piece = [0; 16 * 1024];
        match open.stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(length) => open.received.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        if let Some(status) = answered(&open.received) {
            *counts.answers.entry(status).or_default() += 1;
            open.received.clear();
            if self.repeats {
                open.sent = 0;
            }
        }
        let request = self.request;
        if open.sent < request.len() {
            let end = request.len().min(open.sent + WRITE_MAX);
            match open.stream.write(&request[open.sent..end]) {
                Ok(more) => open.sent += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
        Some(open)
    }
}

/// Returns the status of an answer with a `Content-Length`, if it is complete.
fn answered(received: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(received);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    (body.len() >= length).then_some(status)
}

fn connect(from: Ipv4Addr, server: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(IpAddr::V4(from), 0).into())?;
    socket.connect_timeout(&server.into(), CONNECT_TIMEOUT)?;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(whole, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_body() {
        let answer = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\nno";
        for length in 0..answer.len() {
            assert_eq!(answered(&answer[..length]), None, "{length}");
        }
        assert_eq!(answered(answer), Some(429));
    }
}
