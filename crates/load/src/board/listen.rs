//! The streams of a run: opened before it, read on a few threads, and reopened when they break.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::event::{MessageFormat, Recent};
use super::messages::Messages;
use super::plan::BoardPlan;
use super::reader::Reader;
use super::sse::frames;
use crate::engine::control::Control;
use crate::engine::exchange::{PAUSE_DOUBLINGS_MAX, backoff};
use crate::engine::pace::{share, share_before};
use crate::engine::times::Times;
use crate::engine::wire::{Scratch, dial, scratch};
use crate::engine::{on_threads, threads};
use crate::http::http1::{Decoder, Keep};

/// Streams that a thread opens at once.
const OPENING_MAX: usize = 32;
/// How long all streams may take to open.
const OPEN_MAX: Duration = Duration::from_mins(2);
/// The interval between checks whether all streams are open.
const OPEN_EVERY: Duration = Duration::from_millis(5);
/// A stream without any byte for this long is reopened: servers send heartbeats more often.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The longest event, in bytes.
const FRAME_BYTES_MAX: usize = 8 << 20;
/// The buffer capacity that a stream keeps after a long event, in bytes.
const FRAME_BYTES_KEPT: usize = 4096;

/// State shared by all stream threads.
#[derive(Debug)]
pub(crate) struct BoardRun {
    pub(crate) plan: Arc<BoardPlan>,
    pub(crate) tokens: Vec<String>,
    pub(crate) messages: Messages,
    pub(crate) wording: MessageFormat,
    /// The cursor from which all streams start.
    pub(crate) start: String,
    pub(crate) over: CancellationToken,
    /// Streams that have been opened at least once.
    pub(crate) opened: AtomicU32,
    /// Events received, of all kinds.
    pub(crate) frames: AtomicU64,
    /// Why the first stream that failed to open did.
    pub(crate) trouble: OnceLock<String>,
}

/// Ended stream connections by cause.
#[derive(Debug, Clone, Copy, Default, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Disconnects {
    /// Cut by the load generator (`--cut`).
    pub(crate) cut: u64,
    /// Broken, ended by the server, or never established.
    pub(crate) lost: u64,
    /// Refused with a status other than 200.
    pub(crate) refused: u64,
    /// No byte for a minute.
    pub(crate) silent: u64,
}

/// The results of all streams.
#[derive(Debug)]
pub(crate) struct StreamResults {
    pub(crate) readers: Vec<Reader>,
    /// From a message's due time until a stream had it, for each pair of message and stream.
    pub(crate) each: Times,
    pub(crate) ends: Disconnects,
}

/// Opens all streams, runs `meanwhile` once they are open, and closes them. Returns what the streams received
/// and the result of `meanwhile`.
pub(crate) fn listen_during<T>(
    crowd: &Arc<BoardRun>,
    control: &Control,
    meanwhile: impl FnOnce() -> Result<T>,
) -> Result<(StreamResults, T)> {
    let count = threads(crowd.plan.args.workers, crowd.plan.streams);
    let job = |id, runtime: Runtime| {
        let crowd = Arc::clone(crowd);
        move || listen(&crowd, (id, count), &runtime)
    };
    let mut done = Err(anyhow!("nothing was done while the streams were open"));
    let (heard, _) = on_threads("load-streams", count, job, |_| {
        let opened = crowd.wait_until_open(control).context("nothing was measured");
        done = opened.and_then(|()| meanwhile());
        crowd.over.cancel();
    })?;
    let mut all =
        StreamResults { readers: Vec::new(), each: Times::default(), ends: Disconnects::default() };
    for heard in heard {
        all.readers.extend(heard.readers);
        all.each.merge(&heard.each);
        all.ends += heard.ends;
    }
    all.readers.sort_unstable_by_key(|reader| reader.number);
    Ok((all, done?))
}

impl BoardRun {
    fn wait_until_open(&self, control: &Control) -> Result<()> {
        let (streams, deadline) = (self.plan.streams, Instant::now() + OPEN_MAX);
        loop {
            let (opened, trouble) = (self.opened.load(Ordering::Relaxed), self.trouble.get());
            if opened >= streams {
                return Ok(());
            }
            ensure!(!control.stopped(), "stopped before the first message");
            if Instant::now() > deadline || trouble.is_some() {
                let trouble = trouble.map_or_else(String::new, |what| format!(": {what}"));
                bail!("{opened} of {streams} streams are open{trouble}");
            }
            std::thread::sleep(OPEN_EVERY);
        }
    }
}

/// Runs one thread's streams from opening to the end.
fn listen(
    crowd: &Arc<BoardRun>,
    (id, count): (u32, u32),
    runtime: &Runtime,
) -> Result<StreamResults> {
    let thread = Rc::new(StreamThread {
        crowd: Arc::clone(crowd),
        scratch: scratch(),
        recent: RefCell::default(),
        each: RefCell::new(Times::default()),
        opening: Semaphore::new(OPENING_MAX),
    });
    let first = share_before(crowd.plan.streams, count, id);
    let mine = first..first + share(crowd.plan.streams, count, id);
    let local = LocalSet::new();
    let (mut readers, mut ends) = (Vec::new(), Disconnects::default());
    runtime.block_on(local.run_until(async {
        let mut tasks = JoinSet::new();
        for number in mine {
            tasks.spawn_local(StreamClient::new(&thread, number).listen());
        }
        while let Some(ended) = tasks.join_next().await {
            let client = ended.context("a stream's task failed")?;
            readers.push(client.reader);
            ends += client.ends;
        }
        anyhow::Ok(())
    }))?;
    drop(local);
    let thread = Rc::into_inner(thread).context("a stream outlived its thread")?;
    Ok(StreamResults { readers, each: thread.each.into_inner(), ends })
}

/// State shared by the streams of a thread.
struct StreamThread {
    crowd: Arc<BoardRun>,
    scratch: Scratch,
    recent: RefCell<Recent>,
    each: RefCell<Times>,
    opening: Semaphore,
}

/// Why a connection ended.
enum Disconnect {
    Cut,
    Lost(String),
    Refused(u16),
    Silent,
}

/// One stream with its connection.
struct StreamClient {
    thread: Rc<StreamThread>,
    reader: Reader,
    decoder: Decoder,
    request: Vec<u8>,
    rng: SmallRng,
    ends: Disconnects,
    opened: bool,
}

impl StreamClient {
    fn new(thread: &Rc<StreamThread>, number: u32) -> Self {
        let crowd = &thread.crowd;
        let seed = crowd.plan.args.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number);
        Self {
            reader: Reader::new(number, &crowd.start),
            thread: Rc::clone(thread),
            decoder: Decoder::new(Keep::Stream),
            request: Vec::new(),
            rng: SmallRng::seed_from_u64(seed),
            ends: Disconnects::default(),
            opened: false,
        }
    }

    /// Reads the stream until the run is over, reconnecting as often as needed.
    async fn listen(mut self) -> Self {
        let crowd = Arc::clone(&self.thread.crowd);
        let mut failed = 0;
        while let Some(end) = crowd.over.run_until_cancelled(self.connect(&mut failed)).await {
            self.reader.resume();
            let mut retry_after_s = None;
            match &end {
                Disconnect::Cut => {
                    self.ends.cut += 1;
                    continue;
                }
                Disconnect::Lost(_) => self.ends.lost += 1,
                Disconnect::Refused(_) => {
                    self.ends.refused += 1;
                    retry_after_s = self.decoder.retry_after_s();
                }
                Disconnect::Silent => self.ends.silent += 1,
            }
            self.complain(&end, failed);
            failed += 1;
            let pause = backoff(failed, retry_after_s, &mut self.rng);
            crowd.over.run_until_cancelled(sleep(pause)).await;
        }
        self
    }

    /// Opens the stream and reads it to its end. `failed`: consecutive failures to open it.
    async fn connect(&mut self, failed: &mut u32) -> Disconnect {
        match self.open().await {
            Ok(stream) => {
                *failed = 0;
                self.read(stream).await
            }
            Err(end) => end,
        }
    }

    /// Reports a stream that cannot be opened for the first time, which ends the run: after a 4xx at once,
    /// otherwise after several tries.
    fn complain(&self, end: &Disconnect, failed: u32) {
        if self.opened
            || (failed < PAUSE_DOUBLINGS_MAX && !matches!(end, Disconnect::Refused(..=499)))
        {
            return;
        }
        let number = self.reader.number;
        drop(self.thread.crowd.trouble.set(match end {
            Disconnect::Refused(401) => {
                format!(
                    "stream {number} was refused with 401; if the --tokens file is old, delete it"
                )
            }
            Disconnect::Refused(status) => format!("stream {number} was refused with {status}"),
            Disconnect::Lost(why) => format!("stream {number}: {why}"),
            Disconnect::Cut | Disconnect::Silent => return,
        }));
    }

    /// Connects, sends the request and reads the head of the response.
    async fn open(&mut self) -> Result<TcpStream, Disconnect> {
        let thread = Rc::clone(&self.thread);
        // The semaphore is never closed, so this cannot fail.
        let _turn = thread.opening.acquire().await;
        let asked = timeout(thread.crowd.plan.args.timeout, self.ask()).await;
        let stream = asked.map_err(|_| Disconnect::Lost("timeout".to_owned()))??;
        if !self.opened {
            self.opened = true;
            thread.crowd.opened.fetch_add(1, Ordering::Relaxed);
        }
        Ok(stream)
    }

    async fn ask(&mut self) -> Result<TcpStream, Disconnect> {
        let (number, thread) = (u64::from(self.reader.number), Rc::clone(&self.thread));
        let (plan, tokens) = (&thread.crowd.plan, &thread.crowd.tokens);
        let users = tokens.len() as u64;
        // A second stream of an account goes to another server.
        let site = plan.site(number + number / users);
        let token = &tokens[usize::try_from(number % users).unwrap_or_default()];
        let cursor = String::from_utf8_lossy(&self.reader.cursor);
        site.stream(token, &thread.crowd.start, &cursor, &mut self.request);
        let lost = |error: io::Error| Disconnect::Lost(error.to_string());
        let mut stream = dial(site.target.address).await.map_err(lost)?;
        stream.write_all(&self.request).await.map_err(lost)?;
        self.decoder.begin(false);
        loop {
            let is_whole = self.receive(&mut stream).await?;
            match self.decoder.status() {
                Some(200) => return Ok(stream),
                Some(status) if is_whole => return Err(Disconnect::Refused(status)),
                _ => {}
            }
        }
    }

    /// Reads the next bytes; true at the end of the response.
    async fn receive(&mut self, stream: &mut TcpStream) -> Result<bool, Disconnect> {
        let lost = |why: String| Disconnect::Lost(why);
        let count =
            read_some(stream, &self.thread.scratch).await.map_err(|e| lost(e.to_string()))?;
        if count == 0 {
            return self.decoder.close().map(|_| true).map_err(|e| lost(e.to_string()));
        }
        let fed = self.decoder.feed(&self.thread.scratch.borrow()[..count]);
        fed.map(|answer| answer.is_some()).map_err(|error| lost(error.to_string()))
    }

    /// Reads events until the connection ends.
    async fn read(&mut self, mut stream: TcpStream) -> Disconnect {
        let cut_after = self.thread.crowd.plan.args.cut.map_or(Duration::MAX, |mean| {
            let drawn: f64 = Exp1.sample(&mut self.rng);
            mean.mul_f64(drawn.min(10.0))
        });
        let mut cut = pin!(sleep(cut_after));
        let mut silence = pin!(sleep(SILENCE_MAX));
        let (mut is_ended, mut is_heard) = (false, true);
        loop {
            if let Err(end) = self.take_events() {
                return end;
            }
            if is_ended {
                return Disconnect::Lost("the server ended the stream".to_owned());
            }
            tokio::select! {
                biased;
                () = &mut cut => return Disconnect::Cut,
                () = &mut silence => {
                    if !std::mem::take(&mut is_heard) {
                        return Disconnect::Silent;
                    }
                    silence.as_mut().reset(tokio::time::Instant::now() + SILENCE_MAX);
                }
                received = self.receive(&mut stream) => match received {
                    Ok(is_whole) => (is_ended, is_heard) = (is_whole, true),
                    Err(end) => return end,
                },
            }
        }
    }

    /// Takes the complete events out of the buffer.
    fn take_events(&mut self) -> Result<(), Disconnect> {
        let bytes = self.decoder.body_mut();
        if bytes.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let (thread, reader) = (&self.thread, &mut self.reader);
        let (mut recent, mut each) = (thread.recent.borrow_mut(), thread.each.borrow_mut());
        let crowd = &thread.crowd;
        let mut count = 0;
        let used = frames(bytes, |frame| {
            count += 1;
            let told = (&mut *recent, &crowd.wording, &crowd.messages);
            if let Some(took) = reader.take(frame, now, told) {
                each.record(took);
            }
        });
        crowd.frames.fetch_add(count, Ordering::Relaxed);
        bytes.drain(..used);
        if bytes.is_empty() {
            bytes.shrink_to(FRAME_BYTES_KEPT);
        }
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(Disconnect::Lost(format!("an event of more than {FRAME_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// Reads once. The bytes are in `scratch` until the next await.
async fn read_some(stream: &mut TcpStream, scratch: &Scratch) -> io::Result<usize> {
    poll_fn(|context| {
        let mut room = scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut room);
        // Unlike `try_read`, `poll_read` clears readiness after a read shorter than the buffer.
        Pin::new(&mut *stream).poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
    })
    .await
}
