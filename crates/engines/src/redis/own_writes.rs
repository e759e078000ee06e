//! This process's own recent writes, which a lagging replica may not have yet.

use std::collections::HashMap;

use lodge_domain::links::Short;
use parking_lot::RwLock;

/// Links that are remembered; past it, every link counts as written.
const SHORTS_MAX: usize = 100_000;

/// When this process dropped the copies of links, on the clock of its heartbeats. A replica whose
/// heartbeat is not later than that may still have the dropped copy.
#[derive(Default)]
pub(super) struct OwnWrites(RwLock<State>);

#[derive(Default)]
struct State {
    at: HashMap<Short, u64>,
    /// When any other copy may have been dropped; 0 for never.
    others: u64,
}

impl OwnWrites {
    /// Records that the master has dropped these copies by now. The clock is read under the lock, so that
    /// a delayed call does not set a time back.
    pub(super) fn record(&self, shorts: &[Short], now: impl FnOnce() -> u64) {
        let mut state = self.0.write();
        let now = now();
        if state.at.len() + shorts.len() > SHORTS_MAX {
            *state = State { others: now, ..State::default() };
        } else {
            state.at.extend(shorts.iter().map(|short| (short.clone(), now)));
        }
    }

    /// Whether a server with this heartbeat has dropped the copy.
    pub(super) fn is_covered_by(&self, heartbeat: u64, short: &Short) -> bool {
        let state = self.0.read();
        state.others < heartbeat && state.at.get(short).is_none_or(|at| *at < heartbeat)
    }

    /// Forgets the copies that every server with this heartbeat has dropped.
    pub(super) fn forget_before(&self, heartbeat: u64) {
        self.0.write().at.retain(|_, at| *at >= heartbeat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: impl std::fmt::Display) -> Short {
        Short::stored(format!("{text}"))
    }

    #[test]
    fn only_a_heartbeat_begun_after_a_copy_was_dropped_proves_it() {
        let written = OwnWrites::default();
        written.record(&[short("mine")], || 7);
        let known = |heartbeat| written.is_covered_by(heartbeat, &short("mine"));
        assert_eq!([6, 7, 8].map(known), [false, false, true]);
        assert!(written.is_covered_by(1, &short("another")));
        written.forget_before(7);
        assert!(!known(7));
        written.forget_before(8);
        assert!(written.0.read().at.is_empty());
    }

    #[test]
    fn past_the_limit_every_copy_counts_as_dropped() {
        let written = OwnWrites::default();
        let shorts: Vec<_> = (0..SHORTS_MAX).map(short).collect();
        written.record(&shorts, || 3);
        assert!(written.is_covered_by(1, &short("another")));
        written.record(&[short("one more")], || 5);
        for short in [&shorts[0], &short("one more"), &short("another")] {
            assert_eq!(
                [5, 6].map(|heartbeat| written.is_covered_by(heartbeat, short)),
                [false, true]
            );
        }
        assert!(written.0.read().at.is_empty());
    }
}
