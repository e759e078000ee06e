//! The server of the accounts tier.

mod connection;
mod pending_handshakes;

use std::{fmt::Display, net::IpAddr, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use lodge_domain::accounts::Backend;
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::pending_handshakes::{PendingHandshake, PendingHandshakes};
use crate::{
    frame::{self, ConnectionError, Incoming, Outgoing},
    handshake,
    key::SharedKey,
    tls::ServerTls,
};

/// The settings and limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The shared key; a client must prove that it has it.
    pub key: SharedKey,
    /// The most authenticated connections; one more is refused with a reason and closed.
    pub connections_max: usize,
    /// The most pending handshakes; one more closes the oldest from the host that has the most.
    pub pending_handshakes_max: usize,
    /// The timeout of a handshake, including TLS.
    pub handshake_timeout: Duration,
    /// The most calls in flight on a connection; one more is refused.
    pub in_flight_max: u32,
    /// The timeout of a write to a client.
    pub patience: Duration,
    /// The idle timeout of a connection.
    pub idle: Duration,
    /// The longest time for a call, even if its client would wait longer.
    pub deadline_max: Duration,
    /// How long calls in flight may take to finish when the server stops.
    pub grace: Duration,
    /// TLS; `None` for plain TCP.
    pub tls: Option<ServerTls>,
}

impl ServerOptions {
    /// Creates options with the default limits and without TLS.
    pub fn new(key: SharedKey) -> Self {
        Self {
            key,
            connections_max: 500,
            pending_handshakes_max: 128,
            handshake_timeout: Duration::from_secs(2),
            in_flight_max: 64,
            patience: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            deadline_max: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            tls: None,
        }
    }
}

/// Accepts connections and answers their calls by `backend` until `stop`; then lets calls in flight finish within
/// the grace time. The future is boxed, so that it is compiled here and not in the crate that awaits it.
pub fn serve(
    listener: TcpListener,
    backend: Arc<dyn Backend>,
    options: ServerOptions,
    stop: CancellationToken,
) -> BoxFuture<'static, ()> {
    run(listener, backend, options, stop).boxed()
}

async fn run(
    listener: TcpListener,
    backend: Arc<dyn Backend>,
    options: ServerOptions,
    stop: CancellationToken,
) {
    let door = Arc::new(Admission::new(options));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection from the web tier");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let (door, backend, stop) = (Arc::clone(&door), Arc::clone(&backend), stop.clone());
        if door.places.available_permits() > 0 {
            let client = door.register(from);
            connections.spawn(async move {
                let met = client.run_unless_evicted(door.handshake(stream, from)).await;
                if let Some(met) = met.flatten() {
                    connection::run(met, backend, &door.options, stop).await;
                }
            });
        } else {
            door.note_refused(from);
            // If the pending handshakes are full, too, the connection is dropped: a refusal may need TLS, and time.
            if let Some(client) = door.pending_handshakes.try_add(from) {
                connections.spawn(async move {
                    client.run_unless_evicted(door.refuse(stream)).await;
                });
            }
        }
    }
    drop(listener);
    connections.close();
    let (grace, patience) = (door.options.grace, door.options.patience);
    if timeout(grace + patience, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "stopped with calls from the web tier in flight");
    }
}

/// An authenticated connection and its permit.
struct Authenticated {
    incoming: Incoming,
    outgoing: Outgoing,
    /// Released on drop.
    _place: OwnedSemaphorePermit,
}

/// Admits connections: limits them and performs the handshake.
struct Admission {
    options: ServerOptions,
    places: Arc<Semaphore>,
    pending_handshakes: Arc<PendingHandshakes>,
    /// The time of the last log entry about a refused connection.
    told: Mutex<Option<Instant>>,
}

impl Admission {
    fn new(options: ServerOptions) -> Self {
        Self {
            places: Arc::new(Semaphore::new(options.connections_max)),
            pending_handshakes: PendingHandshakes::new(options.pending_handshakes_max),
            told: Mutex::default(),
            options,
        }
    }

    /// Registers a pending handshake.
    fn register(&self, from: IpAddr) -> PendingHandshake {
        let (client, evicted) = self.pending_handshakes.add(from);
        if let Some(host) = evicted {
            metrics::counter!("lodge_wire_strangers_dropped_total").increment(1);
            self.log_refused(
                host,
                &"dropped for a newer connection before its handshake was complete",
            );
        }
        client
    }

    /// Performs the handshake; returns `None` if it fails.
    async fn handshake(&self, stream: TcpStream, from: IpAddr) -> Option<Authenticated> {
        match self.try_handshake(stream).await {
            Ok(met) => return Some(met),
            // A probe of the port is not a failed handshake.
            Err(error) if error.is_disconnect() => {
                tracing::debug!(%from, "a connection closed before its handshake");
            }
            Err(ConnectionError::Rejected(handshake::FULL)) => self.note_refused(from),
            Err(error) => {
                metrics::counter!("lodge_wire_hellos_failed_total").increment(1);
                self.log_refused(from, &error);
            }
        }
        None
    }

    fn note_refused(&self, from: IpAddr) {
        metrics::counter!("lodge_wire_connections_refused_total").increment(1);
        self.log_refused(from, &handshake::FULL);
    }

    async fn try_handshake(&self, stream: TcpStream) -> Result<Authenticated, ConnectionError> {
        let (options, deadline) = (&self.options, Instant::now() + self.options.handshake_timeout);
        let (mut incoming, mut outgoing) = self.open(stream, deadline).await?;
        let sides = (&mut incoming, &mut outgoing);
        let place = || Arc::clone(&self.places).try_acquire_owned().ok();
        let in_flight_max = options.in_flight_max;
        let met = handshake::accept(sides, &options.key, in_flight_max, options.patience, place);
        let place = timeout_at(deadline, met).await.unwrap_or(Err(ConnectionError::ReadTimeout))?;
        Ok(Authenticated { incoming, outgoing, _place: place })
    }

    /// Splits a connection into its halves, inside TLS if configured.
    async fn open(
        &self,
        stream: TcpStream,
        deadline: Instant,
    ) -> Result<(Incoming, Outgoing), ConnectionError> {
        stream.set_nodelay(true)?;
        match &self.options.tls {
            None => Ok(frame::split(stream)),
            Some(tls) => Ok(frame::split_tls(tls.accept(stream, deadline).await?)),
        }
    }

    /// Refuses a connection past the limit.
    async fn refuse(&self, stream: TcpStream) {
        let deadline = Instant::now() + self.options.handshake_timeout;
        if let Ok((_, mut outgoing)) = self.open(stream, deadline).await {
            let said =
                handshake::refuse(&mut outgoing, handshake::FULL, self.options.handshake_timeout);
            // A client that does not read this only sees the connection close.
            let _ = timeout_at(deadline, said).await;
        }
    }

    /// Logs a refused connection as a warning at most once a second, because any client can cause it.
    fn log_refused(&self, from: IpAddr, why: &dyn Display) {
        let mut told = self.told.lock();
        if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            drop(told);
            tracing::warn!(%from, error = %why, "refused a connection from the web tier");
        } else {
            tracing::debug!(%from, error = %why, "refused a connection from the web tier");
        }
    }
}

/// The shortest interval between warnings about refused connections.
const TELL_EVERY: Duration = Duration::from_secs(1);
