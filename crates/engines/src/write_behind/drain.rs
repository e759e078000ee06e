//! The worker that stores pending writes.

use std::time::Duration;

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, join},
    stream,
};
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{Error, Result, links::Link};
use parking_lot::Mutex;
use tokio::time::{Instant, interval, sleep, timeout};
use uuid::Uuid;

use super::{Batch, InFlight, Loss, Received, WriteBehind};

/// First and longest pause between two tries; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Period of heartbeats and of checks for overdue links.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// How long everything put before a loss must have been stored for the pending writes to be complete:
/// longer than the queue needs to requeue the links of a worker that died or hangs.
const QUIET: Duration = Duration::from_secs(30);

/// Upper bound of the delay between a `PUT` and its queueing, plus clock skew.
const ENQUEUE_DELAY_MAX: SignedDuration = SignedDuration::from_secs(10);

/// How long a link may be pending. Past it a process died before queueing it, or before removing it from
/// the pending writes once stored.
const OVERDUE: SignedDuration = SignedDuration::from_secs(60);

/// How long one check may spend on overdue links.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(5);

/// A worker that moves links from the queue into the store.
pub struct DrainWorker {
    write_behind: WriteBehind,
    id: Uuid,
    at_once: usize,
    progress: Mutex<Progress>,
}

/// A worker's progress.
#[derive(Debug, Clone, Copy)]
struct Progress {
    in_flight: InFlight,
    /// When the newest received link was put.
    reached: Timestamp,
}

impl DrainWorker {
    /// A worker with the unique id `id` that stores up to `at_once` links concurrently.
    pub fn new(write_behind: WriteBehind, id: Uuid, at_once: u8) -> Self {
        let at_once = usize::from(at_once);
        let progress = Progress { in_flight: InFlight::default(), reached: Timestamp::UNIX_EPOCH };
        Self { write_behind, id, at_once, progress: Mutex::new(progress) }
    }

    /// Works for as long as it is polled. Links in flight when that ends are redelivered to a worker.
    pub fn run(&self) -> BoxFuture<'_, ()> {
        join(self.store_batches(), self.check_periodically()).map(drop).boxed()
    }

    async fn store_batches(&self) {
        let mut pause = PAUSE;
        loop {
            match self.store_next().await {
                Ok(()) => pause = PAUSE,
                Err(error) => {
                    tracing::warn!(%error, "links cannot be received from the queue");
                    sleep(pause).await;
                    pause = PAUSE_MAX.min(2 * pause);
                }
            }
        }
    }

    async fn store_next(&self) -> Result<()> {
        let batch = self.write_behind.queue.receive().await?;
        self.progress.lock().receive(&batch);
        self.first_then_all(&batch.0, |received| self.store_or_dead_letter(received)).await;
        metrics::counter!("lodge_links_drained_total").increment(batch.0.len() as u64);
        let taken = self.write_behind.queue.acknowledge(batch).await;
        self.progress.lock().in_flight = InFlight::default();
        taken
    }

    /// Processes the first item alone, then the rest: while the store is unavailable, only one item
    /// retries, and the rest wait here as well as they would in the queue.
    async fn first_then_all<'a, T, F: Future<Output = ()>>(
        &self,
        all: &'a [T],
        each: impl Fn(&'a T) -> F,
    ) {
        let (first, others) = all.split_at(1.min(all.len()));
        for part in [first, others] {
            stream::iter(part).for_each_concurrent(self.at_once, &each).await;
        }
    }

    async fn store_or_dead_letter(&self, received: &Received) {
        let Err(error) = self.store_one(received.link.clone()).await else { return };
        tracing::error!(short = received.link.short.as_str(), %error, "a link that cannot be stored is dead-lettered");
        metrics::counter!("lodge_links_dead_letters_total").increment(1);
        if let Err(error) = self.write_behind.queue.dead_letter(received.receipt).await {
            // The connection is lost, and the link is redelivered.
            tracing::warn!(%error, "the link could not be dead-lettered");
        }
    }

    /// Stores a link, retrying while the store is unavailable. An error is permanent.
    async fn store_one(&self, link: Link) -> Result<()> {
        let mut pause = PAUSE;
        loop {
            match self.store_once(&link).await {
                Err(Error::Unavailable { .. }) => {
                    sleep(pause).await;
                    pause = PAUSE_MAX.min(2 * pause);
                }
                done => return done,
            }
        }
    }

    async fn store_once(&self, link: &Link) -> Result<()> {
        let done = self.write_behind.store.replace(link.clone(), None).await?;
        let lag = self.write_behind.clock.now().duration_since(link.changed_at);
        metrics::histogram!("lodge_links_drain_lag_seconds").record(lag.as_secs_f64());
        if let Err(error) = self.write_behind.pending.remove_stored(&done.outcome.link).await {
            // The check for overdue links removes it.
            tracing::debug!(%error, "a stored link is still a pending write");
        }
        Ok(())
    }

    /// Stores overdue links; the next check does the rest.
    async fn store_overdue(&self, overdue: Vec<Link>) {
        let stored = self.first_then_all(&overdue, async |link| {
            match self.store_once(link).await {
                Err(error @ Error::Unavailable { .. }) => {
                    tracing::debug!(%error, "an overdue link cannot be stored yet");
                }
                Err(error) => {
                    tracing::error!(short = link.short.as_str(), %error, "an overdue link that cannot be stored is dropped");
                    let _ = self.write_behind.pending.remove_stored(link).await;
                }
                Ok(()) => {}
            }
        });
        if timeout(OVERDUE_TIMEOUT, stored).await.is_err() {
            tracing::debug!("storing overdue links takes longer than one check may");
        }
    }

    async fn check_periodically(&self) {
        let (mut ticks, mut quiet_since) = (interval(CHECK_PERIOD), None);
        loop {
            ticks.tick().await;
            if let Err(error) = self.check(&mut quiet_since).await {
                quiet_since = None;
                tracing::debug!(%error, "the pending writes cannot be checked");
            }
        }
    }

    async fn check(&self, quiet_since: &mut Option<Instant>) -> Result<()> {
        let Progress { in_flight, reached } = *self.progress.lock();
        let in_flights = self.write_behind.pending.heartbeat(self.id, in_flight).await?;
        let waiting = self.write_behind.queue.waiting().await?;
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_waiting").set((waiting + in_flights.count) as f64);
        let stored_until =
            stored_until(waiting, in_flights, reached, self.write_behind.clock.now());
        // A link that was put later may still be in the queue.
        let overdue = self.write_behind.pending.overdue(stored_until - OVERDUE).await?;
        let has_overdue = !overdue.is_empty();
        self.store_overdue(overdue).await;
        let loss = self.write_behind.pending.loss().await?;
        let is_stored =
            |loss: &Loss| !has_overdue && stored_until >= loss.since + ENQUEUE_DELAY_MAX;
        let Some(loss) = loss.filter(is_stored) else {
            *quiet_since = None;
            return Ok(());
        };
        let since = *quiet_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= QUIET {
            tracing::info!("every link that was lost from the pending writes is stored");
            self.write_behind.pending.mark_complete(&loss).await?;
        }
        Ok(())
    }
}

/// Returns the time up to which links are stored, if they were queued as soon as they were put.
fn stored_until(
    waiting: u64,
    in_flights: InFlight,
    reached: Timestamp,
    now: Timestamp,
) -> Timestamp {
    match waiting + in_flights.count {
        0 => now,
        // Links are received in queue order.
        _ => in_flights.oldest.map_or(reached, |oldest| oldest.min(reached)),
    }
}

impl Progress {
    fn receive(&mut self, batch: &Batch) {
        let times = || batch.0.iter().map(|received| received.link.changed_at);
        self.in_flight = InFlight { count: batch.0.len() as u64, oldest: times().min() };
        self.reached = times().max().unwrap_or(self.reached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_waits_or_is_in_flight_does_not_count_as_stored() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let in_flight = |oldest| InFlight { count: 1, oldest: Some(at(oldest)) };
        let (none, reached, now) = (InFlight::default(), at(50), at(60));
        assert_eq!(stored_until(0, none, reached, now), now, "no link waits or is in flight");
        assert_eq!(stored_until(1, none, reached, now), reached, "a waiting link was put later");
        assert_eq!(stored_until(0, in_flight(40), reached, now), at(40));
        assert_eq!(stored_until(1, in_flight(55), reached, now), reached);
        let both = in_flight(40).plus(in_flight(30)).plus(none);
        assert_eq!((both.count, stored_until(0, both, reached, now)), (2, at(30)));
    }
}
