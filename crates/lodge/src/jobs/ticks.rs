//! The pace of jobs.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// How long the last clicks and notes may take to be stored.
pub(super) const LAST_FLUSH: Duration = Duration::from_secs(5);

/// How long between two tries of it.
pub(super) const LAST_PAUSE: Duration = Duration::from_millis(100);

/// Ticks of which none is made up for.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
