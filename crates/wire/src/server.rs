//! The accounts tier's side.

mod connection;

use std::{sync::Arc, time::Duration};

use lodge_domain::accounts::Backend;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{frame, hello, key::SharedKey};

/// The bounds of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What a client must prove that it has.
    pub key: SharedKey,
    /// Connections at once; one more is told so and closed.
    pub connections_max: usize,
    /// Calls under way on a connection; one more is refused.
    pub in_flight_max: u32,
    /// How long a client may take to prove its key, or to take what it is sent.
    pub patience: Duration,
    /// How long a client may say nothing at all.
    pub idle: Duration,
    /// How long a call may take, whatever its client would wait.
    pub deadline_max: Duration,
    /// How long calls may go on once the server stops.
    pub grace: Duration,
}

impl ServerOptions {
    /// The usual bounds.
    pub fn new(key: SharedKey) -> Self {
        Self {
            key,
            connections_max: 500,
            in_flight_max: 64,
            patience: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            deadline_max: Duration::from_secs(15),
            grace: Duration::from_secs(10),
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
    let places = Arc::new(Semaphore::new(options.connections_max));
    let connections = TaskTracker::new();
    let options = Arc::new(options);
    // As many again may be told that there is no room; the rest is closed without a word.
    let refusals = Arc::new(Semaphore::new(options.connections_max));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection of the web tier could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let (options, backend, stop) = (Arc::clone(&options), Arc::clone(&backend), stop.clone());
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            connections.spawn(async move {
                connection::run(stream, backend, &options, stop).await;
                drop(place);
            });
        } else {
            metrics::counter!("lodge_wire_connections_refused_total").increment(1);
            if let Ok(seat) = Arc::clone(&refusals).try_acquire_owned() {
                connections.spawn(async move {
                    refuse(stream, options.patience).await;
                    drop(seat);
                });
            }
        }
    }
    drop(listener);
    connections.close();
    if timeout(options.grace + options.patience, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "calls of the web tier were still under way");
    }
}

async fn refuse(stream: TcpStream, patience: Duration) {
    let (_, mut outgoing) = frame::split(stream);
    hello::turn_away(&mut outgoing, "it has as many connections as it may", patience).await;
}
