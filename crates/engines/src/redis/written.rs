//! What this process has written lately, of which a replica may not have heard.

use std::collections::HashMap;

use lodge_domain::links::Short;
use parking_lot::RwLock;

/// Links that are remembered; past it, all are taken to have been written.
const SHORTS_MAX: usize = 100_000;

/// When the copies of links were dropped for this process, on the clock of its pulses. Until a pulse
/// that was begun later is there, a replica with the newest may still have what was dropped.
#[derive(Default)]
pub(super) struct Written(RwLock<State>);

#[derive(Default)]
struct State {
    at: HashMap<Short, u64>,
    /// When any of the others may have been dropped; 0 if none was.
    others: u64,
}

impl Written {
    /// Notes that the master has dropped these copies by now. The clock is read under the lock, so that a note that
    /// comes late does not put one back.
    pub(super) fn note(&self, shorts: &[Short], now: impl FnOnce() -> u64) {
        let mut state = self.0.write();
        let now = now();
        if state.at.len() + shorts.len() > SHORTS_MAX {
            *state = State { others: now, ..State::default() };
        } else {
            state.at.extend(shorts.iter().map(|short| (short.clone(), now)));
        }
    }

    /// Whether whoever has that pulse has dropped the copy.
    pub(super) fn is_known_at(&self, pulse: u64, short: &Short) -> bool {
        let state = self.0.read();
        state.others < pulse && state.at.get(short).is_none_or(|at| *at < pulse)
    }

    /// Forgets what all know who have that pulse.
    pub(super) fn forget_before(&self, pulse: u64) {
        self.0.write().at.retain(|_, at| *at >= pulse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: impl std::fmt::Display) -> Short {
        Short::stored(format!("{text}"))
    }

    #[test]
    fn only_a_pulse_begun_after_a_copy_was_dropped_says_that_it_was() {
        let written = Written::default();
        written.note(&[short("mine")], || 7);
        let known = |pulse| written.is_known_at(pulse, &short("mine"));
        assert_eq!([6, 7, 8].map(known), [false, false, true]);
        assert!(written.is_known_at(1, &short("another")));
        written.forget_before(7);
        assert!(!known(7));
        written.forget_before(8);
        assert!(written.0.read().at.is_empty());
    }

    #[test]
    fn past_what_is_remembered_all_is_taken_to_have_been_dropped() {
        let written = Written::default();
        let shorts: Vec<_> = (0..SHORTS_MAX).map(short).collect();
        written.note(&shorts, || 3);
        assert!(written.is_known_at(1, &short("another")));
        written.note(&[short("one more")], || 5);
        for short in [&shorts[0], &short("one more"), &short("another")] {
            assert_eq!([5, 6].map(|pulse| written.is_known_at(pulse, short)), [false, true]);
        }
        assert!(written.0.read().at.is_empty());
    }
}
