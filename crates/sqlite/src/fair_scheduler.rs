//! Fair scheduling of the writer: the app that has used the least time runs next.

use std::{collections::VecDeque, time::Duration};

/// How far the used time of one app may lag behind that of another. An app that was idle runs first until it has caught
/// up, for at most this time.
const LAG_MAX: Duration = Duration::from_millis(200);

/// The writer's time used by each of `N` apps.
#[derive(Debug)]
pub(crate) struct FairScheduler<const N: usize> {
    used: [Duration; N],
    last: [Duration; N],
}

impl<const N: usize> FairScheduler<N> {
    pub(crate) fn new() -> Self {
        Self { used: [Duration::ZERO; N], last: [Duration::ZERO; N] }
    }

    /// Returns the app that runs next, of those with waiting jobs.
    pub(crate) fn next<T>(&self, waiting: &[VecDeque<T>; N]) -> Option<usize> {
        (0..N).filter(|who| !waiting[*who].is_empty()).min_by_key(|who| self.used[*who])
    }

    /// Returns how long the app's last job took.
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
