//! Storing what was acknowledged.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use jiff::SignedDuration;
use lodge_domain::{
    Clock, Error, Result,
    links::{Link, LinkStore},
};
use tokio::time::{Instant, interval, sleep, timeout};
use uuid::Uuid;

use super::{HeldLinks, LinkQueue, Received};

/// Pauses between two tries, doubled up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How often the worker looks around.
const LOOK: Duration = Duration::from_secs(1);

/// How long the queue and every worker's hands must have been empty for nothing to be missing: longer
/// than a queue needs to take back what a worker held that has died or hangs.
const QUIET: Duration = Duration::from_secs(30);

/// How long a link may be held; past it somebody died between holding it and queueing it, or between
/// storing it and letting go of it.
const OVERDUE: SignedDuration = SignedDuration::from_secs(60);

/// How long a look may spend on them.
const OVERDUE_AT_MOST: Duration = Duration::from_secs(5);

/// A worker: takes links off the queue into the store.
pub struct Drain {
    queue: Arc<dyn LinkQueue>,
    held: Arc<dyn HeldLinks>,
    store: Arc<dyn LinkStore>,
    clock: Arc<dyn Clock>,
    id: Uuid,
    at_once: usize,
    in_hand: AtomicU64,
}

impl Drain {
    /// A worker with a name of its own, `id`, that stores `at_once` links at once, at least one.
    pub fn new(
        queue: Arc<dyn LinkQueue>,
        held: Arc<dyn HeldLinks>,
        store: Arc<dyn LinkStore>,
        clock: Arc<dyn Clock>,
        id: Uuid,
        at_once: u8,
    ) -> Self {
        let at_once = usize::from(at_once);
        Self { queue, held, store, clock, id, at_once, in_hand: AtomicU64::new(0) }
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
        let batch = self.queue.receive().await?;
        let count = batch.0.len() as u64;
        self.in_hand.store(count, Ordering::Release);
        // However long the store is away, they wait here as well as in the queue; the first of them finds
        // out, so that a store in need is not asked by all.
        let (first, others) = batch.0.split_at(1.min(batch.0.len()));
        for links in [first, others] {
            stream::iter(links)
                .for_each_concurrent(self.at_once, |received| self.store_or_bury(received))
                .await;
        }
        metrics::counter!("lodge_links_drained_total").increment(count);
        let taken = self.queue.stored(batch).await;
        self.in_hand.store(0, Ordering::Release);
        taken
    }

    async fn store_or_bury(&self, received: &Received) {
        let Err(error) = self.store_one(received.link.clone()).await else { return };
        tracing::error!(short = received.link.short.as_str(), %error, "a link that cannot be stored goes to the dead");
        metrics::counter!("lodge_links_dead_letters_total").increment(1);
        if let Err(error) = self.queue.bury(received.receipt).await {
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
        let done = self.store.replace(link.clone(), None).await?;
        let lag = self.clock.now().duration_since(link.changed_at);
        metrics::histogram!("lodge_links_drain_lag_seconds").record(lag.as_secs_f64());
        if let Err(error) = self.held.release(&done.outcome.link).await {
            // It is overdue later.
            tracing::debug!(%error, "what is stored is still held");
        }
        Ok(())
    }

    /// Stores what has been held for too long; what is left over has its turn at the next look.
    async fn store_overdue(&self, overdue: Vec<Link>) {
        let stored = stream::iter(&overdue).for_each_concurrent(self.at_once, async |link| {
            match self.store_once(link).await {
                Err(error @ Error::Unavailable { .. }) => {
                    tracing::debug!(%error, "what is held for long cannot be stored yet");
                }
                Err(error) => {
                    tracing::error!(short = link.short.as_str(), %error, "a link that cannot be stored is let go of");
                    let _ = self.held.release(link).await;
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
        let in_hands = self.held.attend(self.id, self.in_hand.load(Ordering::Acquire)).await?;
        let waiting = self.queue.waiting().await?;
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_waiting").set((waiting + in_hands) as f64);
        let overdue = self.held.overdue(self.clock.now() - OVERDUE).await?;
        let is_quiet = waiting + in_hands == 0 && overdue.is_empty();
        self.store_overdue(overdue).await;
        if self.held.is_whole().await? || !is_quiet {
            *quiet_since = None;
            return Ok(());
        }
        let since = *quiet_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= QUIET {
            tracing::info!("everything that was queued is stored; what is held is whole again");
            self.held.vouch().await?;
        }
        Ok(())
    }
}
