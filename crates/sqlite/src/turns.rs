//! Whose turn it is with the writer: theirs whose work has taken the least time.

use std::{collections::VecDeque, time::Duration};

/// How far somebody's time may lag behind another's. Whoever was idle goes first until they have had as
/// long, and no longer than this.
const LAG_MAX: Duration = Duration::from_millis(200);

/// How long the work of each of `N` took.
#[derive(Debug)]
pub(crate) struct Turns<const N: usize> {
    used: [Duration; N],
    last: [Duration; N],
}

impl<const N: usize> Turns<N> {
    pub(crate) fn new() -> Self {
        Self { used: [Duration::ZERO; N], last: [Duration::ZERO; N] }
    }

    /// Who of those for whom something waits comes next.
    pub(crate) fn next<T>(&self, waiting: &[VecDeque<T>; N]) -> Option<usize> {
        (0..N).filter(|who| !waiting[*who].is_empty()).min_by_key(|who| self.used[*who])
    }

    /// How long the last piece of somebody's work took.
    pub(crate) fn last(&self, who: usize) -> Duration {
        self.last[who]
    }

    pub(crate) fn charge(&mut self, who: usize, took: Duration) {
        self.last[who] = took;
        self.used[who] += took;
        let least = self.used[who].saturating_sub(LAG_MAX);
        for used in &mut self.used {
            *used = least.max(*used);
        }
    }
}
