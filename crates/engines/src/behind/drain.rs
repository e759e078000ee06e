//! Storing what was acknowledged.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{Error, Result, links::Link};
use parking_lot::Mutex;
use tokio::time::{Instant, interval, sleep, timeout};
use uuid::Uuid;

use super::{Batch, InHand, Received, WriteBehind};

/// Pauses between two tries, doubled up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How often the worker looks around.
const LOOK: Duration = Duration::from_secs(1);

/// For how long everything must have been stored that was put before something was lost, for nothing to
/// be missing: longer than a queue needs to take back what a worker held that has died or hangs.
const QUIET: Duration = Duration::from_secs(30);

/// How much later than it was put a link may be queued, and clocks may differ, together.
const LATE: SignedDuration = SignedDuration::from_secs(10);

/// How long a link may be held; past it somebody died between holding it and queueing it, or between
/// storing it and letting go of it.
const OVERDUE: SignedDuration = SignedDuration::from_secs(60);

/// How long a look may spend on them.
const OVERDUE_AT_MOST: Duration = Duration::from_secs(5);

/// A worker: takes links off the queue into the store.
pub struct Drain {
    behind: WriteBehind,
    id: Uuid,
    at_once: usize,
    progress: Mutex<Progress>,
}

/// How far a worker has come.
#[derive(Debug, Clone, Copy)]
struct Progress {
    in_hand: InHand,
    /// When the newest link that it has received was put.
    reached: Timestamp,
}

impl Drain {
    /// A worker with a name of its own, `id`, that stores `at_once` links at once, at least one.
    pub fn new(behind: WriteBehind, id: Uuid, at_once: u8) -> Self {
        let at_once = usize::from(at_once);
        let progress = Progress { in_hand: InHand::default(), reached: Timestamp::UNIX_EPOCH };
        Self { behind, id, at_once, progress: Mutex::new(progress) }
    }

    /// Works for as long as it is polled. A link that is in hand when that ends comes again to somebody.
    pub async fn run(&self) {
        tokio::join!(self.store_batches(), self.look_around());
    }

    async fn store_batches(&self) {
        let mut pause = PAUSE;
        loop {
            match self.store_next().await {
                Ok(()) => pause = PAUSE,
                Err(error) => {
                    tracing::warn!(%error, "nothing is taken off the queue at the moment");
                    sleep(pause).await;
                    pause = PAUSE_MAX.min(2 * pause);
                }
            }
        }
    }

    async fn store_next(&self) -> Result<()> {
        let batch = self.behind.queue.receive().await?;
        self.progress.lock().receive(&batch);
        self.first_then_all(&batch.0, |received| self.store_or_bury(received)).await;
        metrics::counter!("lodge_links_drained_total").increment(batch.0.len() as u64);
        let taken = self.behind.queue.stored(batch).await;
        self.progress.lock().in_hand = InHand::default();
        taken
    }

    /// However long the store is away, links wait here as well as in the queue; the first of them finds
    /// out, so that a store in need is not asked by all.
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

    async fn store_or_bury(&self, received: &Received) {
        let Err(error) = self.store_one(received.link.clone()).await else { return };
        tracing::error!(short = received.link.short.as_str(), %error, "a link that cannot be stored goes to the dead");
        metrics::counter!("lodge_links_dead_letters_total").increment(1);
        if let Err(error) = self.behind.queue.bury(received.receipt).await {
            // The connection is lost, and the link comes again.
            tracing::warn!(%error, "it could not be buried");
        }
    }

    /// Stores a link, as often as the store is away; an error says that it never will.
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
        let done = self.behind.store.replace(link.clone(), None).await?;
        let lag = self.behind.clock.now().duration_since(link.changed_at);
        metrics::histogram!("lodge_links_drain_lag_seconds").record(lag.as_secs_f64());
        if let Err(error) = self.behind.held.release(&done.outcome.link).await {
            // It is overdue later.
            tracing::debug!(%error, "what is stored is still held");
        }
        Ok(())
    }

    /// Stores what has been held for too long; what is left over has its turn at the next look.
    async fn store_overdue(&self, overdue: Vec<Link>) {
        let stored = self.first_then_all(&overdue, async |link| {
            match self.store_once(link).await {
                Err(error @ Error::Unavailable { .. }) => {
                    tracing::debug!(%error, "what is held for long cannot be stored yet");
                }
                Err(error) => {
                    tracing::error!(short = link.short.as_str(), %error, "a link that cannot be stored is let go of");
                    let _ = self.behind.held.release(link).await;
                }
                Ok(()) => {}
            }
        });
        if timeout(OVERDUE_AT_MOST, stored).await.is_err() {
            tracing::debug!("what is held for long takes its time");
        }
    }

    async fn look_around(&self) {
        let (mut ticks, mut quiet_since) = (interval(LOOK), None);
        loop {
            ticks.tick().await;
            if let Err(error) = self.look(&mut quiet_since).await {
                quiet_since = None;
                tracing::debug!(%error, "what waits to be stored cannot be seen");
            }
        }
    }

    async fn look(&self, quiet_since: &mut Option<Instant>) -> Result<()> {
        let Progress { in_hand, reached } = *self.progress.lock();
        let in_hands = self.behind.held.attend(self.id, in_hand).await?;
        let waiting = self.behind.queue.waiting().await?;
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_waiting").set((waiting + in_hands.count) as f64);
        let stored_until = stored_until(waiting, in_hands, reached, self.behind.clock.now());
        // What was put later may be waiting its turn.
        let overdue = self.behind.held.overdue(stored_until - OVERDUE).await?;
        let has_overdue = !overdue.is_empty();
        self.store_overdue(overdue).await;
        let lost_since = self.behind.held.lost_since().await?;
        if has_overdue || lost_since.is_none_or(|lost| stored_until < lost + LATE) {
            *quiet_since = None;
            return Ok(());
        }
        let since = *quiet_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= QUIET {
            tracing::info!("everything is stored that may have been lost from sight");
            self.behind.held.vouch().await?;
        }
        Ok(())
    }
}

/// Of the links that were put until then, all that were queued at once are stored.
fn stored_until(waiting: u64, in_hands: InHand, reached: Timestamp, now: Timestamp) -> Timestamp {
    match waiting + in_hands.count {
        0 => now,
        // They are received in their order.
        _ => in_hands.oldest.map_or(reached, |oldest| oldest.min(reached)),
    }
}

impl Progress {
    fn receive(&mut self, batch: &Batch) {
        let times = || batch.0.iter().map(|received| received.link.changed_at);
        self.in_hand = InHand { count: batch.0.len() as u64, oldest: times().min() };
        self.reached = times().max().unwrap_or(self.reached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counts_as_stored_that_waits_or_is_in_anybodys_hands() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let in_hand = |oldest| InHand { count: 1, oldest: Some(at(oldest)) };
        let (none, reached, now) = (InHand::default(), at(50), at(60));
        assert_eq!(stored_until(0, none, reached, now), now, "nothing is left");
        assert_eq!(stored_until(1, none, reached, now), reached, "what waits was put later");
        assert_eq!(stored_until(0, in_hand(40), reached, now), at(40));
        assert_eq!(stored_until(1, in_hand(55), reached, now), reached);
        let both = in_hand(40).and(in_hand(30)).and(none);
        assert_eq!((both.count, stored_until(0, both, reached, now)), (2, at(30)));
    }
}
