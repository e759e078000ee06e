//! Trust in the cache while other processes write: entries are valid only as long as the change feed can be read.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use lodge_domain::links::{ChangeFeed, Short};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Interval between two polls of the feed.
const EVERY: Duration = Duration::from_millis(400);

/// Pause after a poll, also if a wake-up arrives.
const AT_MOST_EVERY: Duration = Duration::from_millis(50);

/// The longest time since the start of the last successful poll for which the cache is trusted, in ms. A change is in
/// the feed before it is acknowledged, so every change that was acknowledged longer ago than this is known.
const TRUSTED_MS: u64 = 900;

/// The time of the last successful poll of the change feed.
pub(crate) struct FeedTrust {
    began: Instant,
    /// The longest time for which an entry is cached, in ms.
    kept_ms: u64,
    /// The start of the last successful poll, in ms since `began`, plus one; 0 if there was none.
    heard: AtomicU64,
}

impl FeedTrust {
    pub(crate) fn new(kept: Duration) -> Self {
        let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { began: Instant::now(), kept_ms, heard: AtomicU64::new(0) }
    }

    /// Whether an entry that expires at `kept_until_ms` is valid: it has not expired, and every change that was
    /// acknowledged a second ago is known.
    pub(crate) fn is_valid(&self, kept_until_ms: u64) -> bool {
        let (heard, now) = (self.heard.load(Ordering::Acquire), self.now_ms());
        heard > 0 && now < heard + TRUSTED_MS && now < kept_until_ms
    }

    /// Returns the milliseconds since `began`.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the expiry of a new entry. Entries of one moment expire spread over a quarter of the time, so that they
    /// are not all read from the store at once.
    pub(crate) fn kept_until_ms(&self, spread: u64) -> u64 {
        self.now_ms() + self.kept_ms - spread % self.kept_ms.div_ceil(4)
    }

    /// Polls the feed and calls `forget` for each change of another process; never returns.
    pub(crate) async fn follow(&self, feed: &dyn ChangeFeed, forget: impl Fn(&Short)) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = feed.wakeup() => {}
            }
            let asked_ms = self.now_ms();
            // Never cancelled: the feed does not repeat the changes that it has returned.
            match feed.changed().await {
                Ok(changed) => {
                    changed.iter().for_each(&forget);
                    self.heard.store(asked_ms + 1, Ordering::Release);
                }
                Err(error) => tracing::debug!(%error, "cannot read the change feed"),
            }
            sleep(AT_MOST_EVERY).await;
        }
    }
}
