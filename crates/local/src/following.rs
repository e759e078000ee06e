//! Whether what this process remembers can be trusted while others write as well: only as long as it
//! hears what they change.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use lodge_domain::links::{ChangeFeed, Short};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How often the feed is asked.
const EVERY: Duration = Duration::from_millis(400);

/// How long a nudge waits after the last question.
const AT_MOST_EVERY: Duration = Duration::from_millis(50);

/// How long ago the feed may have been asked with success. A change is told before it is acknowledged,
/// so nothing that was acknowledged longer ago than this is unheard of.
const TRUSTED_MS: u64 = 900;

/// When the feed was asked last with success.
pub(crate) struct Hearing {
    began: Instant,
    /// How long an entry is kept at most.
    kept_ms: u64,
    /// Milliseconds since `began`, plus one; 0 if never.
    heard: AtomicU64,
}

impl Hearing {
    pub(crate) fn new(kept: Duration) -> Self {
        let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { began: Instant::now(), kept_ms, heard: AtomicU64::new(0) }
    }

    /// Whether everything that was acknowledged a second ago has been heard of, and an entry that is
    /// kept until then counts.
    pub(crate) fn trusts(&self, kept_until_ms: u64) -> bool {
        let (heard, now) = (self.heard.load(Ordering::Acquire), self.now_ms());
        heard > 0 && now < heard + TRUSTED_MS && now < kept_until_ms
    }

    /// Milliseconds since this process began to listen.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Until when an entry of now is kept. Entries of one moment go over a quarter of the time, so that
    /// the store is not asked for all of them at once.
    pub(crate) fn kept_until_ms(&self, spread: u64) -> u64 {
        self.now_ms() + self.kept_ms - spread % self.kept_ms.div_ceil(4)
    }

    /// Asks the feed for ever, and has `forget` drop what others have changed.
    pub(crate) async fn follow(&self, feed: &dyn ChangeFeed, forget: impl Fn(&Short)) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = feed.nudged() => {}
            }
            let asked_ms = self.now_ms();
            // Never given up half-way: what it has told it does not tell again.
            match feed.changed().await {
                Ok(changed) => {
                    changed.iter().for_each(&forget);
                    self.heard.store(asked_ms + 1, Ordering::Release);
                }
                Err(error) => tracing::debug!(%error, "the change feed cannot be read"),
            }
            sleep(AT_MOST_EVERY).await;
        }
    }
}
