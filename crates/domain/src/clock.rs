//! The time, passed in, so that a rule about time can be tested without waiting.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Says what time it is.
pub trait Clock: Send + Sync {
    /// The present, in whole milliseconds: what the stores keep.
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

/// A clock that stands still until it is told to move; for tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Mutex::new(Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)))
    }

    /// Moves the clock on by `seconds`.
    pub fn advance_seconds(&self, seconds: i64) {
        *self.0.lock() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}
