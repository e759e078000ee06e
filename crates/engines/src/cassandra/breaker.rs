//! A circuit breaker for a store that does not answer.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Instant,
};

/// Failures in a row that open the breaker.
const FAILURES_MAX: u32 = 5;

/// Pause between two trials while the breaker is open.
const PAUSE_MS: u64 = 500;

/// A circuit breaker that, while open, lets one caller at a time try whether the store answers again.
/// (The breakers of the crates that were examined let all callers through while the first trial runs.)
pub(crate) struct Breaker {
    began: Instant,
    failures: AtomicU32,
    /// When the next trial may begin, in milliseconds since `began`.
    trial_ms: AtomicU64,
}

/// Permission to call the store.
pub(crate) struct Trial<'a>(&'a Breaker);

impl Default for Breaker {
    fn default() -> Self {
        Self { began: Instant::now(), failures: AtomicU32::new(0), trial_ms: AtomicU64::new(0) }
    }
}

impl Breaker {
    /// Returns a permission; `None` if the breaker is open and no trial is due or another caller runs it.
    pub(crate) fn trial(&self) -> Option<Trial<'_>> {
        if self.failures.load(Ordering::Acquire) < FAILURES_MAX {
            return Some(Trial(self));
        }
        let now = self.now_ms();
        let due = self.trial_ms.load(Ordering::Acquire);
        let next = now + PAUSE_MS;
        let is_mine = now >= due
            && self
                .trial_ms
                .compare_exchange(due, next, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        is_mine.then_some(Trial(self))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Trial<'_> {
    /// Records whether the store answered.
    pub(crate) fn record(self, answered: bool) {
        if answered {
            self.0.failures.store(0, Ordering::Release);
        } else if self.0.failures.fetch_add(1, Ordering::AcqRel) + 1 >= FAILURES_MAX {
            self.0.trial_ms.store(self.0.now_ms() + PAUSE_MS, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_breaker() -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            breaker.trial().unwrap().record(false);
        }
        breaker
    }

    #[test]
    fn an_open_breaker_refuses_calls() {
        assert!(open_breaker().trial().is_none());
    }

    #[test]
    fn an_open_breaker_admits_one_trial_at_a_time() {
        let breaker = open_breaker();
        breaker.trial_ms.store(0, Ordering::Release);
        let trial = breaker.trial().unwrap();
        assert!(breaker.trial().is_none());
        trial.record(true);
        assert!(breaker.trial().is_some());
    }

    #[test]
    fn failures_that_are_not_in_a_row_do_not_open_the_breaker() {
        let breaker = Breaker::default();
        for _ in 0..3 * FAILURES_MAX {
            breaker.trial().unwrap().record(false);
            breaker.trial().unwrap().record(true);
        }
        assert!(breaker.trial().is_some());
    }
}
