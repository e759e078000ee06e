//! The accounts tier's side.

mod connection;
mod strangers;

use std::{fmt::Display, net::IpAddr, sync::Arc, time::Duration};

use lodge_domain::accounts::Backend;
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::strangers::{Stranger, Strangers};
use crate::{
    frame::{self, Broken, Incoming, Outgoing},
    hello,
    key::SharedKey,
    tls::ServerTls,
};

/// The bounds of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What a client must prove that it has.
    pub key: SharedKey,
    /// Connections at once of those who have proved it; one more is told so and closed.
    pub connections_max: usize,
    /// Connections at once of those who have not; with one more, the oldest from the host that has the most
    /// is closed.
    pub strangers_max: usize,
    /// How long a client may take to prove its key, TLS included.
    pub hello: Duration,
    /// Calls under way on a connection; one more is refused.
    pub in_flight_max: u32,
    /// How long a client may take to take what it is sent.
    pub patience: Duration,
    /// How long a client may say nothing at all.
    pub idle: Duration,
    /// How long a call may take, whatever its client would wait.
    pub deadline_max: Duration,
    /// How long calls may go on once the server stops.
    pub grace: Duration,
    /// How TLS is spoken, if it is.
    pub tls: Option<ServerTls>,
}

impl ServerOptions {
    /// The usual bounds.
    pub fn new(key: SharedKey) -> Self {
        Self {
            key,
            connections_max: 500,
            strangers_max: 128,
            hello: Duration::from_secs(2),
            in_flight_max: 64,
            patience: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            deadline_max: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            tls: None,
        }
    }
}

/// Accepts connections and has `backend` answer their calls until `stop`; then lets what runs finish
/// within the grace time.
pub async fn serve(
    listener: TcpListener,
    backend: Arc<dyn Backend>,
    options: ServerOptions,
    stop: CancellationToken,
) {
    let door = Arc::new(Door::new(options));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                tracing::warn!(%error, "a connection of the web tier could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let (door, backend, stop) = (Arc::clone(&door), Arc::clone(&backend), stop.clone());
        if door.places.available_permits() > 0 {
            let stranger = door.let_in(from);
            connections.spawn(async move {
                let met = stranger.while_there_is_room(door.meet(stream, from)).await;
                if let Some(met) = met.flatten() {
                    connection::run(met, backend, &door.options, stop).await;
                }
            });
        } else {
            door.note_refused(from);
            // Where they have no room either, without a word: to say one may take TLS, and time.
            if let Some(stranger) = door.strangers.enter_if_there_is_room(from) {
                connections.spawn(async move {
                    stranger.while_there_is_room(door.refuse(stream)).await;
                });
            }
        }
    }
    drop(listener);
    connections.close();
    let (grace, patience) = (door.options.grace, door.options.patience);
    if timeout(grace + patience, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "calls of the web tier were still under way");
    }
}

/// A client that has proved its key, and its place.
struct Met {
    incoming: Incoming,
    outgoing: Outgoing,
    /// Free again when this goes.
    _place: OwnedSemaphorePermit,
}

/// Where those who come are looked at.
struct Door {
    options: ServerOptions,
    places: Arc<Semaphore>,
    strangers: Arc<Strangers>,
    /// When it was last logged that somebody did not come in.
    told: Mutex<Option<Instant>>,
}

impl Door {
    fn new(options: ServerOptions) -> Self {
        Self {
            places: Arc::new(Semaphore::new(options.connections_max)),
            strangers: Strangers::new(options.strangers_max),
            told: Mutex::default(),
            options,
        }
    }

    /// Gives a stranger one of their places.
    fn let_in(&self, from: IpAddr) -> Stranger {
        let (stranger, evicted) = self.strangers.enter(from);
        if let Some(host) = evicted {
            metrics::counter!("lodge_wire_strangers_dropped_total").increment(1);
            self.tell(host, &"others needed its place before it had proved the key");
        }
        stranger
    }

    /// Has a stranger prove the key, and gives them a place.
    async fn meet(&self, stream: TcpStream, from: IpAddr) -> Option<Met> {
        match self.try_meet(stream).await {
            Ok(met) => return Some(met),
            // A look whether somebody listens is none that has failed.
            Err(error) if error.is_departure() => {
                tracing::debug!(%from, "somebody of the web tier came and went");
            }
            Err(Broken::TurnedAway(hello::FULL)) => self.note_refused(from),
            Err(error) => {
                metrics::counter!("lodge_wire_hellos_failed_total").increment(1);
                self.tell(from, &error);
            }
        }
        None
    }

    fn note_refused(&self, from: IpAddr) {
        metrics::counter!("lodge_wire_connections_refused_total").increment(1);
        self.tell(from, &hello::FULL);
    }

    async fn try_meet(&self, stream: TcpStream) -> Result<Met, Broken> {
        let (options, deadline) = (&self.options, Instant::now() + self.options.hello);
        let (mut incoming, mut outgoing) = self.open(stream, deadline).await?;
        let sides = (&mut incoming, &mut outgoing);
        let place = || Arc::clone(&self.places).try_acquire_owned().ok();
        let in_flight_max = options.in_flight_max;
        let met = hello::welcome(sides, &options.key, in_flight_max, options.patience, place);
        let place = timeout_at(deadline, met).await.unwrap_or(Err(Broken::Silent))?;
        Ok(Met { incoming, outgoing, _place: place })
    }

    /// Both directions, inside TLS where it is spoken here.
    async fn open(
        &self,
        stream: TcpStream,
        deadline: Instant,
    ) -> Result<(Incoming, Outgoing), Broken> {
        stream.set_nodelay(true)?;
        match &self.options.tls {
            None => Ok(frame::split(stream)),
            Some(tls) => Ok(frame::split_tls(tls.accept(stream, deadline).await?)),
        }
    }

    /// Says that there is no room.
    async fn refuse(&self, stream: TcpStream) {
        let deadline = Instant::now() + self.options.hello;
        if let Ok((_, mut outgoing)) = self.open(stream, deadline).await {
            let said = hello::turn_away(&mut outgoing, hello::FULL, self.options.hello);
            // Whoever does not take it learns it by the end of the connection.
            let _ = timeout_at(deadline, said).await;
        }
    }

    /// Logs that somebody did not come in: once a second, for anybody can cause it.
    fn tell(&self, from: IpAddr, why: &dyn Display) {
        let mut told = self.told.lock();
        if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            drop(told);
            tracing::warn!(%from, error = %why, "a connection of the web tier did not come about");
        } else {
            tracing::debug!(%from, error = %why, "a connection of the web tier did not come about");
        }
    }
}

/// How often it is logged at most that somebody did not come in.
const TELL_EVERY: Duration = Duration::from_secs(1);
