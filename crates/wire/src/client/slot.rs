//! Keeping the slots of a pool connected.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::{
    Shared,
    connection::{Connection, ConnectionTask},
    open,
};
use crate::frame::ConnectionError;

/// An established connection, and what drives it.
type Established = (Arc<Connection>, ConnectionTask);

impl Shared {
    /// Keeps a slot connected, if possible to its own server; never returns.
    pub(super) async fn keep(&self, slot: usize) {
        let servers = self.options.servers.len();
        let own = slot % servers;
        let (mut server, mut redial) = (own, Backoff::new(self.options.redial));
        loop {
            if let Some(established) = self.dial(server).await {
                let began = Instant::now();
                if server == own {
                    self.run(slot, established).await;
                } else {
                    self.run_at_fallback(slot, own, established).await;
                }
                redial.lived(began.elapsed());
            }
            server = (server + 1) % servers;
            sleep(jittered(redial.pause())).await;
        }
    }

    /// Runs a connection to the slot's own server until it ends.
    async fn run(&self, slot: usize, (connection, task): Established) {
        self.put(slot, Some(connection));
        let ended = task.run(|| self.better.notify_waiters()).await;
        tracing::debug!(error = %ended, "a connection to the accounts tier ended");
        self.put(slot, None);
    }

    /// Runs a connection to another server until it ends, or until one to the own server can replace it.
    async fn run_at_fallback(&self, slot: usize, own: usize, (connection, task): Established) {
        self.put(slot, Some(Arc::clone(&connection)));
        let mut running = pin!(task.run(|| self.better.notify_waiters()));
        let replacement = async {
            loop {
                sleep(jittered(self.options.away)).await;
                if let Some(established) = self.dial(own).await {
                    return established;
                }
            }
        };
        tokio::select! {
            ended = &mut running => {
                tracing::debug!(error = %ended, "a connection to the accounts tier ended");
                self.put(slot, None);
            }
            established = replacement => {
                // It answers the calls that it has.
                connection.retire();
                tokio::join!(running, self.run(slot, established));
            }
        }
    }

    fn put(&self, slot: usize, connection: Option<Arc<Connection>>) {
        *self.slots[slot].lock() = connection;
        self.better.notify_waiters();
    }

    /// Connects to the server at this index of the list.
    async fn dial(&self, server: usize) -> Option<Established> {
        let options = &self.options;
        let address = &options.servers[server];
        let dialled = async {
            let stream = open(address, options.tls.as_ref()).await?;
            Connection::begin(stream, options, server).await
        };
        let dialled = timeout(options.patience, dialled).await;
        match dialled.unwrap_or(Err(ConnectionError::ReadTimeout)) {
            Ok(established) => Some(established),
            Err(error) => {
                tracing::warn!(address, %error, "the accounts tier cannot be reached");
                metrics::counter!("lodge_wire_dials_failed_total").increment(1);
                None
            }
        }
    }
}

/// A pause, shortened by chance to half at least.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.5..1.0))
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
