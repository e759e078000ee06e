//! One connection to the accounts tier.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::{Call, Reply},
};
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use tokio::{
    sync::{
        mpsc::{Receiver, Sender, channel},
        oneshot,
    },
    time::{Instant, MissedTickBehavior, interval, timeout_at},
};

use super::PoolOptions;
use crate::{
    frame::{ConnectionError, Incoming, Outgoing, receive, send_together, written},
    handshake,
    message::{FromClient, FromServer, read_outcome},
};

/// The callers' handle of a connection.
pub(super) struct Connection {
    frames: Sender<Bytes>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<TimedOutcome>>>,
    next: AtomicU64,
    in_flight_max: usize,
    /// The index of the server in the list.
    server: usize,
    /// Whether the server accepts no more calls, or the connection has ended.
    closing: AtomicBool,
    /// Whether it has ended because the server did not answer or read in time.
    hangs: AtomicBool,
}

/// The outcome of a call and the time of its arrival.
pub(super) struct TimedOutcome {
    pub(super) outcome: Result<Reply>,
    /// From this time on the call no longer counted as in flight on the connection.
    pub(super) at: Instant,
}

/// Why a call has no outcome.
pub(super) enum Unanswered {
    /// It was certainly not sent.
    NotSent,
    /// The connection ended before the answer; the server may have run the call, and may still run it if it hangs.
    Lost { hangs: bool },
}

impl TimedOutcome {
    fn now(outcome: Result<Reply>) -> Self {
        Self { outcome, at: Instant::now() }
    }
}

/// The I/O side of a connection, driven by [`ConnectionTask::run`].
pub(super) struct ConnectionTask {
    connection: Arc<Connection>,
    incoming: Incoming,
    outgoing: Outgoing,
    frames: Receiver<Bytes>,
    patience: Duration,
    ping_every: Duration,
    silence_max: Duration,
}

impl Connection {
    /// Performs the handshake: each side proves to the other that it has the key.
    pub(super) async fn begin(
        (mut incoming, mut outgoing): (Incoming, Outgoing),
        options: &PoolOptions,
        server: usize,
    ) -> Result<(Arc<Self>, ConnectionTask), ConnectionError> {
        let sides = (&mut incoming, &mut outgoing);
        let allowed = handshake::connect(sides, &options.key, options.patience).await?;
        let in_flight_max = allowed.min(options.in_flight_max) as usize;
        // Capacity for each call and its cancellation.
        let (sender, frames) = channel(2 * in_flight_max + 1);
        let connection = Arc::new(Self {
            frames: sender,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            in_flight_max,
            server,
            closing: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
        });
        let running = ConnectionTask {
            connection: Arc::clone(&connection),
            incoming,
            outgoing,
            frames,
            patience: options.patience,
            ping_every: options.ping_every,
            silence_max: options.silence_max,
        };
        Ok((connection, running))
    }

    /// Returns the index of the server in the list.
    pub(super) fn server(&self) -> usize {
        self.server
    }

    /// Returns the number of calls without an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Whether one more call is allowed and can be queued: if the server does not read, the queue stays full even
    /// after all callers have given up.
    pub(super) fn has_room(&self) -> bool {
        !self.closing.load(Ordering::Acquire)
            && self.frames.capacity() > 0
            && self.in_flight() < self.in_flight_max
    }

    /// Makes a call; past the deadline its outcome is [`Error::Unavailable`].
    pub(super) async fn call(
        &self,
        call: &Call,
        deadline: Instant,
    ) -> std::result::Result<TimedOutcome, Unanswered> {
        let call = match to_raw_value(call) {
            Ok(call) => call,
            Err(error) => return Ok(TimedOutcome::now(Err(Error::internal(error)))),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let deadline_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let frame = written(&FromClient::Call { id, deadline_ms, call });
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if self.closing.load(Ordering::Acquire) || waiting.len() >= self.in_flight_max {
                return Err(Unanswered::NotSent);
            }
            waiting.insert(id, reply);
        }
        // From here on the server gets a cancellation if this future is dropped or times out.
        let _given_up = CancelOnDrop { connection: self, id };
        if self.frames.try_send(frame).is_err() {
            self.waiting.lock().remove(&id);
            return Err(Unanswered::NotSent);
        }
        match timeout_at(deadline, answer).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(_)) => Err(Unanswered::Lost { hangs: self.hangs.load(Ordering::Acquire) }),
            Err(_) => {
                let late = Error::unavailable("timed out waiting for the accounts tier");
                Ok(TimedOutcome::now(Err(late)))
            }
        }
    }

    /// Takes no more calls; the connection ends when all are answered.
    pub(super) fn retire(&self) {
        self.closing.store(true, Ordering::Release);
    }

    fn end(&self) {
        self.closing.store(true, Ordering::Release);
        // Fails the waiting calls.
        self.waiting.lock().clear();
    }
}

/// Cancels a call at the server on drop, unless its answer has arrived: then it is no longer in `waiting`.
struct CancelOnDrop<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.connection.waiting.lock().remove(&self.id).is_some() {
            // If the queue is full, the call ends at the server by its deadline.
            let _ = self.connection.frames.try_send(written(&FromClient::Cancel { id: self.id }));
        }
    }
}

impl ConnectionTask {
    /// Sends calls and delivers answers until the connection ends; returns why. `better` is called whenever
    /// capacity may have become free.
    pub(super) async fn run(self, better: impl Fn()) -> ConnectionError {
        let Self { connection, incoming, outgoing, frames, patience, ping_every, silence_max } =
            self;
        let ends = EndOnDrop(&connection);
        let ended = tokio::select! {
            ended = read_loop(&connection, incoming, silence_max, &better) => ended,
            ended = write_loop(outgoing, frames, (ping_every, patience), &better) => ended,
        };
        let ended = ended.err().unwrap_or(ConnectionError::Closed);
        let hangs = matches!(ended, ConnectionError::ReadTimeout | ConnectionError::WriteTimeout);
        connection.hangs.store(hangs, Ordering::Release);
        drop(ends);
        ended
    }
}

/// Fails the waiting calls on drop.
struct EndOnDrop<'a>(&'a Connection);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

async fn read_loop(
    connection: &Connection,
    mut incoming: Incoming,
    silence_max: Duration,
    better: impl Fn(),
) -> Result<(), ConnectionError> {
    loop {
        // A live server answers every ping.
        let frame = receive(&mut incoming, silence_max).await?;
        match serde_json::from_slice(&frame).map_err(ConnectionError::InvalidMessage)? {
            FromServer::Answer { id, outcome } => {
                // The answer to a cancelled call is dropped.
                let waiting = connection.waiting.lock().remove(&id);
                if let Some(waiting) = waiting {
                    let _ = waiting.send(TimedOutcome::now(read_outcome(&outcome)));
                }
                better();
            }
            FromServer::Pong => {}
            FromServer::Closing => connection.retire(),
        }
        if connection.closing.load(Ordering::Acquire) && connection.in_flight() == 0 {
            return Ok(());
        }
    }
}

/// Sends queued frames in batches, and pings.
async fn write_loop(
    mut outgoing: Outgoing,
    mut frames: Receiver<Bytes>,
    (ping_every, patience): (Duration, Duration),
    better: impl Fn(),
) -> Result<(), ConnectionError> {
    let mut pings = interval(ping_every);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            frame = frames.recv() => frame.ok_or(ConnectionError::Closed)?,
            _ = pings.tick() => written(&FromClient::Ping),
        };
        let began = Instant::now();
        send_together(&mut outgoing, first, &mut frames, patience).await?;
        better();
        metrics::histogram!("lodge_wire_send_seconds").record(began.elapsed());
    }
}
