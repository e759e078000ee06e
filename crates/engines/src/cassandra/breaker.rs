//! Sparing callers the wait for a store that does not answer.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Instant,
};

/// Failures in a row after which the store is silent.
const FAILURES_MAX: u32 = 5;

/// How long nobody asks a silent store; then one does for all.
const PAUSE_MS: u64 = 500;

/// A circuit breaker that lets one caller at a time try whether a silent store answers again. (Those of
/// the crates that were looked at let everybody through who comes while the first trial runs.)
pub(crate) struct Breaker {
    began: Instant,
    failures: AtomicU32,
    /// When the next trial may begin, in milliseconds since `began`.
    trial_ms: AtomicU64,
}

/// Permission to ask.
pub(crate) struct Trial<'a>(&'a Breaker);

impl Default for Breaker {
    fn default() -> Self {
        Self { began: Instant::now(), failures: AtomicU32::new(0), trial_ms: AtomicU64::new(0) }
    }
}

impl Breaker {
    /// Permission to ask, unless the store is silent and it is not yet, or not this caller's, turn.
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
    /// Says whether an answer came.
    pub(crate) fn ended(self, answered: bool) {
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

    fn silent() -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            breaker.trial().unwrap().ended(false);
        }
        breaker
    }

    #[test]
    fn a_store_that_does_not_answer_is_not_asked_by_everybody() {
        assert!(silent().trial().is_none());
    }

    #[test]
    fn one_caller_at_a_time_tries_whether_it_answers_again() {
        let breaker = silent();
        breaker.trial_ms.store(0, Ordering::Release);
        let trial = breaker.trial().unwrap();
        assert!(breaker.trial().is_none());
        trial.ended(true);
        assert!(breaker.trial().is_some());
    }

    #[test]
    fn a_failure_among_answers_changes_nothing() {
        let breaker = Breaker::default();
        for _ in 0..3 * FAILURES_MAX {
            breaker.trial().unwrap().ended(false);
            breaker.trial().unwrap().ended(true);
        }
        assert!(breaker.trial().is_some());
    }
}
