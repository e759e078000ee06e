//! Timing of jobs.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// The timeout of the last flush after `stop`.
pub(super) const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts of the last flush.
pub(super) const FINAL_FLUSH_PAUSE: Duration = Duration::from_millis(100);

/// Returns an interval that delays after a missed tick and does not catch up.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
