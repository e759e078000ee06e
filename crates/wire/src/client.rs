//! The web tier's side: a pool of connections.

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

use self::connection::{Answered, Connection};
use crate::{
    frame::{self, Broken, Incoming, Outgoing},
    key::SharedKey,
    tls::ClientTls,
};

/// The bounds of a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Where the accounts tier listens, as `host:port`; connections are spread over all of them.
    pub servers: Vec<String>,
    /// What both sides prove that they have.
    pub key: SharedKey,
    /// Connections.
    pub connections: usize,
    /// Calls under way on a connection, if the server allows as many.
    pub in_flight_max: u32,
    /// Calls that may wait for their turn; one more is refused at once.
    pub waiting_max: usize,
    /// How long a call may take, its wait included.
    pub deadline: Duration,
    /// How long the server may take to be reached, to prove its key, to take what it is sent, and to say
    /// that it is there.
    pub patience: Duration,
    /// The first pause before a server is dialled again, and the longest.
    pub redial: (Duration, Duration),
    /// How TLS is spoken to the servers, if it is.
    pub tls: Option<ClientTls>,
}

impl PoolOptions {
    /// The usual bounds.
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

/// Connections to the accounts tier. Each is dialled again when it breaks, for as long as the pool lives.
pub struct Pool {
    shared: Arc<Shared>,
    /// Ends with the pool.
    stop: CancellationToken,
    dialling: TaskTracker,
}

struct Shared {
    options: PoolOptions,
    slots: Vec<Mutex<Option<Arc<Connection>>>>,
    /// Where the next call begins to look for a connection.
    next: AtomicUsize,
    /// Turns: as many as calls may be under way on all connections.
    turns: Semaphore,
    /// Seats for those who wait for a turn.
    waiting: Semaphore,
    /// Something has become better: a connection stands, or a call has ended.
    better: Notify,
}

impl Pool {
    /// Begins to dial; the first calls may wait for it.
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

    /// Ends all connections.
    pub async fn close(&self) {
        self.stop.cancel();
        self.dialling.close();
        self.dialling.wait().await;
    }

    /// Connections that stand.
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
        // Also of who is refused, or goes.
        let mut getting = Some(Timed::begin("lodge_wire_get_connection_seconds"));
        let turn = shared.turn(deadline).await?;
        while Instant::now() < deadline {
            let connection = shared.connection(deadline).await?;
            getting.take();
            let asked = Instant::now();
            match connection.call(&call, deadline).await {
                // It was not sent, so it can go elsewhere, when others have had their turn.
                None => tokio::task::yield_now().await,
                Some(Answered { outcome, at }) => {
                    metrics::histogram!("lodge_wire_round_trip_seconds").record(asked.elapsed());
                    drop(turn);
                    metrics::histogram!("lodge_wire_free_connection_seconds").record(at.elapsed());
                    return outcome;
                }
            }
        }
        Err(Error::unavailable("no connection to the accounts tier was free in time"))
    }
}

/// A section of a call, recorded when it is over, however it ends.
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
    /// Waits for one's turn among those who may.
    async fn turn(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        let _seat = self.waiting.try_acquire().map_err(|_| {
            Error::unavailable("too many calls wait for a connection to the accounts tier")
        })?;
        let turn = timeout_at(deadline, self.turns.acquire()).await;
        let turn = turn.map_err(|_| {
            Error::unavailable("no connection to the accounts tier was free in time")
        })?;
        turn.map_err(Error::internal)
    }

    /// A connection that stands and has room, the least busy of some.
    async fn connection(&self, deadline: Instant) -> Result<Arc<Connection>> {
        loop {
            let better = self.better.notified();
            if let Some(connection) = self.least_busy() {
                return Ok(connection);
            }
            // Whoever asks is told soon: 503 at once is of more use than an answer after a restart.
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

    /// Keeps a slot connected, for as long as it is polled.
    async fn keep(&self, slot: usize) {
        let (mut server, mut redial) = (slot, Redial::new(self.options.redial));
        loop {
            let address = &self.options.servers[server % self.options.servers.len()];
            match timeout(self.options.patience, self.dial(address))
                .await
                .unwrap_or(Err(Broken::Silent))
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
            // The next time perhaps another one, and not all at the same moment.
            server += 1;
            sleep(redial.pause().mul_f64(rand::random_range(0.5..1.0))).await;
        }
    }

    async fn dial(&self, address: &str) -> Result<(Arc<Connection>, connection::Running), Broken> {
        Connection::begin(open(address, self.options.tls.as_ref()).await?, &self.options).await
    }
}

/// Connects to the server at `address`, in TLS if it is spoken.
pub(crate) async fn open(
    address: &str,
    tls: Option<&ClientTls>,
) -> Result<(Incoming, Outgoing), Broken> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(frame::split(stream)),
        Some(tls) => Ok(frame::split_tls(tls.connect(address, stream).await?)),
    }
}

/// How long to wait before a server is dialled again: each time twice as long, up to the longest.
struct Redial {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Redial {
    fn new((first, longest): (Duration, Duration)) -> Self {
        Self { first, longest, next: first }
    }

    /// A connection has ended that stood for so long. One that ends sooner than the longest pause is no sign
    /// that all is well: a server that greets and drops everybody would be dialled without end.
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

/// How long a call waits for a connection where none stands.
const UNREACHABLE: Duration = Duration::from_millis(500);

/// Connections of which the least busy is taken.
const LOOKED_AT: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_connection_has_lived_for_the_longest() {
        let ms = Duration::from_millis;
        let mut redial = Redial::new((ms(50), ms(300)));
        let mut after = |lived| {
            redial.lived(lived);
            redial.pause()
        };
        let lived = [0, 0, 299, 0, 300, 10, 1_000];
        let pauses = [50, 100, 200, 300, 50, 100, 50];
        assert_eq!(lived.map(|lived| after(ms(lived))), pauses.map(ms));
    }
}
