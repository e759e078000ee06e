//! The client of the web tier: a pool of connections.

mod connection;
mod slot;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    accounts::{Backend, Call, Repetition, Reply},
};
use parking_lot::Mutex;
use tokio::{
    net::TcpStream,
    sync::{Notify, Semaphore},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::connection::{Connection, TimedOutcome, Unanswered};
use crate::{
    frame::{self, ConnectionError, Incoming, Outgoing},
    key::SharedKey,
    tls::ClientTls,
};

/// The settings and limits of a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Addresses of the accounts tier, as `host:port`; connections are spread over all of them, and those of a server that
    /// cannot be reached over the others.
    pub servers: Vec<String>,
    /// The shared key; both sides prove that they have it.
    pub key: SharedKey,
    /// The number of connections.
    pub connections: usize,
    /// The most calls in flight on a connection; the server can set a lower limit.
    pub in_flight_max: u32,
    /// The most calls that wait for a free connection; one more is refused at once.
    pub waiting_max: usize,
    /// The timeout of a call, including the wait for a connection.
    pub deadline: Duration,
    /// The timeout for connecting, for each step of the handshake, and for a write.
    pub patience: Duration,
    /// The pause between two pings.
    pub ping_every: Duration,
    /// How long a server may send nothing, pongs included; then its connection is closed.
    pub silence_max: Duration,
    /// The pause between two tries to replace a connection to another server than its own.
    pub away: Duration,
    /// The first and the longest pause before a reconnect.
    pub redial: (Duration, Duration),
    /// TLS to the servers; `None` for plain TCP.
    pub tls: Option<ClientTls>,
}

impl PoolOptions {
    /// Creates options with the default limits and without TLS.
    pub fn new(servers: Vec<String>, key: SharedKey) -> Self {
        // With another server to go to, a short wait is better than a late answer.
        let silence_max = Duration::from_secs(if servers.len() > 1 { 2 } else { 10 });
        Self {
            servers,
            key,
            connections: 4,
            in_flight_max: 64,
            waiting_max: 1024,
            deadline: Duration::from_secs(10),
            patience: Duration::from_secs(5),
            ping_every: Duration::from_millis(500),
            silence_max,
            away: Duration::from_secs(30),
            redial: (Duration::from_millis(50), Duration::from_secs(2)),
            tls: None,
        }
    }
}

/// A pool of connections to the accounts tier. A broken connection is re-established until the pool is dropped.
pub struct Pool {
    shared: Arc<Shared>,
    /// Cancelled when the pool is dropped.
    stop: CancellationToken,
    dialling: TaskTracker,
}

struct Shared {
    options: PoolOptions,
    slots: Vec<Mutex<Option<Arc<Connection>>>>,
    /// The slot at which the next call begins its search.
    next: AtomicUsize,
    /// Permits for calls in flight on all connections together.
    turns: Semaphore,
    /// Permits for calls that wait for one of `turns`.
    waiting: Semaphore,
    /// Notified when a connection is established or a call has ended.
    better: Notify,
}

impl Pool {
    /// Starts to connect in the background; the first calls may wait for a connection.
    pub fn start(options: PoolOptions) -> Self {
        let places = options.connections * options.in_flight_max as usize;
        let shared = Arc::new(Shared {
            slots: (0..options.connections).map(|_| Mutex::default()).collect(),
            next: AtomicUsize::default(),
            turns: Semaphore::new(places),
            waiting: Semaphore::new(options.waiting_max),
            better: Notify::new(),
            options,
        });
        let (stop, dialling) = (CancellationToken::new(), TaskTracker::new());
        for slot in 0..shared.slots.len() {
            let (shared, stop) = (Arc::clone(&shared), stop.clone());
            dialling.spawn(async move { stop.run_until_cancelled(shared.keep(slot)).await });
        }
        Self { shared, stop, dialling }
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.stop.cancel();
        self.dialling.close();
        self.dialling.wait().await;
    }

    /// Returns the number of established connections.
    pub fn connected(&self) -> usize {
        self.shared.slots.iter().filter(|slot| slot.lock().is_some()).count()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[async_trait]
impl Backend for Pool {
    async fn call(&self, call: Call) -> Result<Reply> {
        let shared = &self.shared;
        let deadline = Instant::now() + shared.options.deadline;
        // Recorded also if the call is refused or dropped.
        let mut getting = Some(Timed::begin("lodge_wire_get_connection_seconds"));
        let turn = shared.turn(deadline).await?;
        let mut lost_at = None;
        while Instant::now() < deadline {
            let connection = shared.connection(deadline, lost_at).await?;
            getting.take();
            let asked = Instant::now();
            match connection.call(&call, deadline).await {
                // Another connection can take it, after other tasks have run.
                Err(Unanswered::NotSent) => tokio::task::yield_now().await,
                Err(Unanswered::Lost { hangs }) => {
                    if lost_at.is_some() || !may_repeat(&call, hangs) {
                        return Err(Error::unavailable("lost the connection to the accounts tier"));
                    }
                    metrics::counter!("lodge_wire_calls_repeated_total").increment(1);
                    lost_at = Some(connection.server());
                }
                Ok(TimedOutcome { outcome, at }) => {
                    metrics::histogram!("lodge_wire_round_trip_seconds").record(asked.elapsed());
                    drop(turn);
                    metrics::histogram!("lodge_wire_free_connection_seconds").record(at.elapsed());
                    return outcome;
                }
            }
        }
        Err(Error::unavailable("timed out waiting for a free connection to the accounts tier"))
    }
}

/// Whether a call may be made again that was lost at a server that hangs, or that is dead.
fn may_repeat(call: &Call, hangs: bool) -> bool {
    match call.repetition() {
        Repetition::Always => true,
        Repetition::IfDead => !hangs,
        Repetition::Never => false,
    }
}

/// Records the duration of a section of a call on drop.
struct Timed {
    histogram: &'static str,
    began: Instant,
}

impl Timed {
    fn begin(histogram: &'static str) -> Self {
        Self { histogram, began: Instant::now() }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        metrics::histogram!(self.histogram).record(self.began.elapsed());
    }
}

impl Shared {
    /// Waits for a permit; fails at once if too many calls wait.
    async fn turn(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        let _seat = self.waiting.try_acquire().map_err(|_| {
            Error::unavailable("too many calls are waiting for a connection to the accounts tier")
        })?;
        let turn = timeout_at(deadline, self.turns.acquire()).await;
        let turn = turn.map_err(|_| {
            Error::unavailable("timed out waiting for a free connection to the accounts tier")
        })?;
        turn.map_err(Error::internal)
    }

    /// Returns an established connection with capacity, the least busy of [`LOOKED_AT`] candidates; one to the server
    /// `avoided` only if there is no other.
    async fn connection(
        &self,
        deadline: Instant,
        avoided: Option<usize>,
    ) -> Result<Arc<Connection>> {
        loop {
            let better = self.better.notified();
            if let Some(connection) = self.least_busy(avoided) {
                return Ok(connection);
            }
            // Fail early: a quick 503 is more useful than an answer after a restart.
            let patience = deadline.min(Instant::now() + UNREACHABLE);
            if timeout_at(patience, better).await.is_err() {
                return Err(Error::unavailable("the accounts tier cannot be reached"));
            }
        }
    }

    fn least_busy(&self, avoided: Option<usize>) -> Option<Arc<Connection>> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let standing = || {
            let around = (0..self.slots.len()).map(|step| (start + step) % self.slots.len());
            let standing = around.filter_map(|slot| self.slots[slot].lock().clone());
            standing.filter(|one| one.has_room())
        };
        let elsewhere = standing().filter(|one| avoided != Some(one.server()));
        let found = elsewhere.take(LOOKED_AT).min_by_key(|one| one.in_flight());
        found.or_else(|| standing().next())
    }
}

/// Connects to the server at `address`, with TLS if configured.
pub(crate) async fn open(
    address: &str,
    tls: Option<&ClientTls>,
) -> Result<(Incoming, Outgoing), ConnectionError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(frame::split(stream)),
        Some(tls) => Ok(frame::split_tls(tls.connect(address, stream).await?)),
    }
}

/// How long a call waits while no connection is established.
const UNREACHABLE: Duration = Duration::from_millis(500);

/// Candidate connections, of which the least busy takes the call.
const LOOKED_AT: usize = 2;
