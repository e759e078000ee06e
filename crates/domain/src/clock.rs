//! The clock, passed in so that time-dependent rules can be tested without waiting.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time in whole milliseconds, the precision that the stores keep.
    fn now(&self) -> Timestamp;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let milliseconds = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX)
    }
}

/// A clock that moves only when advanced; for tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// Creates a clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Mutex::new(Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)))
    }

    /// Advances the clock by `seconds`.
    pub fn advance_seconds(&self, seconds: i64) {
        *self.0.lock() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}
