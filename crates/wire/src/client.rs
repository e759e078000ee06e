//! The client of the web tier: a pool of connections.

mod connection;

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
    accounts::{Backend, Call, Reply},
};
use parking_lot::Mutex;
use tokio::{
    net::TcpStream,
    sync::{Notify, Semaphore},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::connection::{Connection, TimedOutcome};
use crate::{
    frame::{self, ConnectionError, Incoming, Outgoing},
    key::SharedKey,
    tls::ClientTls,
};

/// The settings and limits of a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Addresses of the accounts tier, as `host:port`; connections are spread over all of them.
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
    /// The timeout for connecting, for each step of the handshake, for a write, and for the answer to a ping.
    pub patience: Duration,
    /// The first and the longest pause before a reconnect.
    pub redial: (Duration, Duration),
    /// TLS to the servers; `None` for plain TCP.
    pub tls: Option<ClientTls>,
}

impl PoolOptions {
    /// Creates options with the default limits and without TLS.
    pub fn new(servers: Vec<String>, key: SharedKey) -> Self {
        Self {
            servers,
            key,
            connections: 4,
            in_flight_max: 64,
            waiting_max: 1024,
            deadline: Duration::from_secs(10),
            patience: Duration::from_secs(5),
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
        while Instant::now() < deadline {
            let connection = shared.connection(deadline).await?;
            getting.take();
            let asked = Instant::now();
            match connection.call(&call, deadline).await {
                // It was not sent, so another connection can take it, after other tasks have run.
                None => tokio::task::yield_now().await,
                Some(TimedOutcome { outcome, at }) => {
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

    /// Returns an established connection with capacity, the least busy of [`LOOKED_AT`] candidates.
    async fn connection(&self, deadline: Instant) -> Result<Arc<Connection>> {
        loop {
            let better = self.better.notified();
            if let Some(connection) = self.least_busy() {
                return Ok(connection);
            }
            // Fail early: a quick 503 is more useful than an answer after a restart.
            let patience = deadline.min(Instant::now() + UNREACHABLE);
            if timeout_at(patience, better).await.is_err() {
                return Err(Error::unavailable("the accounts tier cannot be reached"));
            }
        }
    }

    fn least_busy(&self) -> Option<Arc<Connection>> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let around = (0..self.slots.len()).map(|step| (start + step) % self.slots.len());
        let standing = around.filter_map(|slot| self.slots[slot].lock().clone());
        standing.filter(|one| one.has_room()).take(LOOKED_AT).min_by_key(|one| one.in_flight())
    }

    /// Keeps a slot connected; never returns.
    async fn keep(&self, slot: usize) {
        let (mut server, mut redial) = (slot, Backoff::new(self.options.redial));
        loop {
            let address = &self.options.servers[server % self.options.servers.len()];
            match timeout(self.options.patience, self.dial(address))
                .await
                .unwrap_or(Err(ConnectionError::ReadTimeout))
            {
                Ok((connection, running)) => {
                    let began = Instant::now();
                    *self.slots[slot].lock() = Some(connection);
                    self.better.notify_waiters();
                    let ended = running.run(|| self.better.notify_waiters()).await;
                    *self.slots[slot].lock() = None;
                    redial.lived(began.elapsed());
                    tracing::debug!(address, error = %ended, "a connection to the accounts tier ended");
                }
                Err(error) => {
                    tracing::warn!(address, %error, "the accounts tier cannot be reached");
                    metrics::counter!("lodge_wire_dials_failed_total").increment(1);
                }
            }
            // Try the next server, with jitter.
            server += 1;
            sleep(redial.pause().mul_f64(rand::random_range(0.5..1.0))).await;
        }
    }

    async fn dial(
        &self,
        address: &str,
    ) -> Result<(Arc<Connection>, connection::ConnectionTask), ConnectionError> {
        Connection::begin(open(address, self.options.tls.as_ref()).await?, &self.options).await
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

/// Exponential backoff for reconnects: the pause doubles up to `longest`.
struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    fn new((first, longest): (Duration, Duration)) -> Self {
        Self { first, longest, next: first }
    }

    /// Notes the lifetime of a connection that ended. One shorter than the longest pause does not reset the backoff:
    /// otherwise a server that accepts and then drops every connection would be dialled in a tight loop.
    fn lived(&mut self, time: Duration) {
        if time >= self.longest {
            self.next = self.first;
        }
    }

    fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }
}

/// How long a call waits while no connection is established.
const UNREACHABLE: Duration = Duration::from_millis(500);

/// Candidate connections, of which the least busy takes the call.
const LOOKED_AT: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_connection_has_lived_for_the_longest() {
        let ms = Duration::from_millis;
        let mut redial = Backoff::new((ms(50), ms(300)));
        let mut after = |lived| {
            redial.lived(lived);
            redial.pause()
        };
        let lived = [0, 0, 299, 0, 300, 10, 1_000];
        let pauses = [50, 100, 200, 300, 50, 100, 50];
        assert_eq!(lived.map(|lived| after(ms(lived))), pauses.map(ms));
    }
}
