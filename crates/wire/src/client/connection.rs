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
    frame::{Broken, Incoming, Outgoing, receive, send_together, written},
    hello,
    message::{FromClient, FromServer, read_outcome},
};

/// How callers see a connection.
pub(super) struct Connection {
    frames: Sender<Bytes>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answered>>>,
    next: AtomicU64,
    in_flight_max: usize,
    /// Whether the server has said that it takes no more calls, or the connection has ended.
    closing: AtomicBool,
}

/// What came of a call, and when.
pub(super) struct Answered {
    pub(super) outcome: Result<Reply>,
    /// From then on its place was free, in the connection.
    pub(super) at: Instant,
}

impl Answered {
    fn now(outcome: Result<Reply>) -> Self {
        Self { outcome, at: Instant::now() }
    }
}

/// What makes a connection go on.
pub(super) struct Running {
    connection: Arc<Connection>,
    incoming: Incoming,
    outgoing: Outgoing,
    frames: Receiver<Bytes>,
    patience: Duration,
}

/// How often a server is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(5);

impl Connection {
    /// Proves to each side that the other has the key.
    pub(super) async fn begin(
        (mut incoming, mut outgoing): (Incoming, Outgoing),
        options: &PoolOptions,
    ) -> Result<(Arc<Self>, Running), Broken> {
        let sides = (&mut incoming, &mut outgoing);
        let allowed = hello::introduce(sides, &options.key, options.patience).await?;
        let in_flight_max = allowed.min(options.in_flight_max) as usize;
        // A call, and that nobody waits for it any more.
        let (sender, frames) = channel(2 * in_flight_max + 1);
        let connection = Arc::new(Self {
            frames: sender,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            in_flight_max,
            closing: AtomicBool::new(false),
        });
        let running = Running {
            connection: Arc::clone(&connection),
            incoming,
            outgoing,
            frames,
            patience: options.patience,
        };
        Ok((connection, running))
    }

    /// Calls whose answers have not come.
    pub(super) fn in_flight(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Whether one more call may be made here, and can be sent: a server that reads nothing leaves no room,
    /// even if nobody waits for its answers.
    pub(super) fn has_room(&self) -> bool {
        !self.closing.load(Ordering::Acquire)
            && self.frames.capacity() > 0
            && self.in_flight() < self.in_flight_max
    }

    /// Makes a call; `None` if it was certainly not sent.
    pub(super) async fn call(&self, call: &Call, deadline: Instant) -> Option<Answered> {
        let call = match to_raw_value(call) {
            Ok(call) => call,
            Err(error) => return Some(Answered::now(Err(Error::internal(error)))),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let deadline_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let frame = written(&FromClient::Call { id, deadline_ms, call });
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if self.closing.load(Ordering::Acquire) || waiting.len() >= self.in_flight_max {
                return None;
            }
            waiting.insert(id, reply);
        }
        // From here on it is told when nobody waits any more, however that comes about.
        let _given_up = GivenUp { connection: self, id };
        if self.frames.try_send(frame).is_err() {
            self.waiting.lock().remove(&id);
            return None;
        }
        let failed = |why| Answered::now(Err(Error::unavailable(why)));
        Some(match timeout_at(deadline, answer).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => failed("the connection to the accounts tier broke"),
            Err(_) => failed("the accounts tier did not answer in time"),
        })
    }

    fn end(&self) {
        self.closing.store(true, Ordering::Release);
        // Whoever waits learns that nobody will answer.
        self.waiting.lock().clear();
    }
}

/// Tells the server that an answer is not waited for any more, unless it has come: then the call is not
/// among those that wait.
struct GivenUp<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if self.connection.waiting.lock().remove(&self.id).is_some() {
            // Where there is no room the server finds out by its deadline.
            let _ = self.connection.frames.try_send(written(&FromClient::Cancel { id: self.id }));
        }
    }
}

impl Running {
    /// Sends calls and hands out answers until the connection breaks; why it did. `better` is called
    /// whenever there may be room again.
    pub(super) async fn run(self, better: impl Fn()) -> Broken {
        let Self { connection, incoming, outgoing, frames, patience } = self;
        let ends = EndOnDrop(&connection);
        let ended = tokio::select! {
            ended = hear(&connection, incoming, patience, &better) => ended,
            ended = say(outgoing, frames, patience, &better) => ended,
        };
        drop(ends);
        ended.err().unwrap_or(Broken::Closed)
    }
}

/// However it ends, whoever waits is told.
struct EndOnDrop<'a>(&'a Connection);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

async fn hear(
    connection: &Connection,
    mut incoming: Incoming,
    patience: Duration,
    better: impl Fn(),
) -> Result<(), Broken> {
    loop {
        // A server that lives answers a ping.
        let frame = receive(&mut incoming, PING_EVERY + patience).await?;
        match serde_json::from_slice(&frame).map_err(Broken::Unreadable)? {
            FromServer::Answer { id, outcome } => {
                // Of a call that was given up, it is dropped.
                let waiting = connection.waiting.lock().remove(&id);
                if let Some(waiting) = waiting {
                    let _ = waiting.send(Answered::now(read_outcome(&outcome)));
                }
                better();
            }
            FromServer::Pong => {}
            FromServer::Closing => connection.closing.store(true, Ordering::Release),
        }
        if connection.closing.load(Ordering::Acquire) && connection.in_flight() == 0 {
            return Ok(());
        }
    }
}

/// Sends what there is, all of it at once together, and asks every few seconds whether anybody is there.
async fn say(
    mut outgoing: Outgoing,
    mut frames: Receiver<Bytes>,
    patience: Duration,
    better: impl Fn(),
) -> Result<(), Broken> {
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            frame = frames.recv() => frame.ok_or(Broken::Closed)?,
            _ = pings.tick() => written(&FromClient::Ping),
        };
        let began = Instant::now();
        send_together(&mut outgoing, first, &mut frames, patience).await?;
        better();
        metrics::histogram!("lodge_wire_send_seconds").record(began.elapsed());
    }
}
