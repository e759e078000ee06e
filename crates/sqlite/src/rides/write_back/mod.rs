//! Write-back buffer of two kinds of sums: skier days and leaderboard entries.
//!
//! Each ride changes the day and the entries of another skier, on other pages of the tables, all of which a group would
//! have to write. The rides themselves are committed, in sequence, before callers get a reply; so these sums can be
//! written later, together with their neighbours. Sums that were not written back when the process ended are recomputed
//! from the rides when the file is opened: a skier day stores the last ride that it includes, so that no ride counts
//! twice, and leaderboard entries follow from the days.

pub(super) mod days;
mod entries;
mod layers;
pub(crate) mod replay;
pub(super) mod work;

use std::collections::BTreeMap;

use lodge_domain::rides::{ResortDay, SkierId, Span, Tally};
use parking_lot::Mutex;

use self::layers::Layers;
use super::state::{DayKey, DayState, Days, Entries, EntryKey, LeaderVertical, keys_of, keys_on};
use crate::failure::SharedError;

#[cfg(test)]
pub(crate) use self::{days::STATEMENTS as OF_DAYS, entries::STATEMENTS as OF_PLACES};

/// When sums are written back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// Buffered sums from which a round of write-back begins.
    pub(crate) sums: usize,
    /// Rides since the last complete round from which the next begins.
    pub(crate) rides: i64,
    /// Sums that one step writes when a round runs without new rides.
    pub(crate) part: usize,
}

/// The sums that are newer than the disk.
pub(crate) struct WriteBack {
    days: Layers<DayKey, DayState>,
    entries: Layers<EntryKey, LeaderVertical>,
    progress: Mutex<Steps>,
    thresholds: Thresholds,
}

#[derive(Debug, Default)]
struct Steps {
    /// Includes the current group.
    of_group: Progress,
    committed: Progress,
}

/// The progress of write-back.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The current round.
    round: Option<Round>,
    /// The row of `rides` up to which all sums are written back.
    written_to: i64,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    after: LastWritten,
    /// The row of the last ride when the round began: at its end, the sums of all rides up to it are written back.
    last_row: i64,
}

/// The last key that a round wrote: first the days, in the order of their table, then the leaderboard entries.
#[derive(Debug, Clone, Copy)]
enum LastWritten {
    Day(Option<DayKey>),
    Place(Option<EntryKey>),
}

impl WriteBack {
    fn new(
        thresholds: Thresholds,
        written_to: i64,
        days: Days,
        places: BTreeMap<EntryKey, LeaderVertical>,
    ) -> Self {
        let progress = Progress { round: None, written_to };
        Self {
            days: Layers::new(days),
            entries: Layers::new(places),
            progress: Mutex::new(Steps { of_group: progress, committed: progress }),
            thresholds,
        }
    }

    /// Whether all sums are on disk.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.days.len() + self.entries.len()
    }

    /// Returns a skier day, if it is buffered.
    pub(super) fn day(&self, skier: SkierId, on: ResortDay) -> Option<Tally> {
        self.days.get(&(skier, on)).map(|state| state.tally)
    }

    /// Returns the buffered days of a skier, sorted.
    pub(super) fn days_of(&self, skier: SkierId) -> Vec<DayState> {
        self.days.range(keys_of(skier)).into_iter().map(|(_, state)| state).collect()
    }

    /// Returns the buffered entries of a leaderboard.
    pub(super) fn entries_of(&self, span: Span) -> Entries {
        let places = self.entries.range(keys_on(span));
        places.into_iter().map(|((_, skier), place)| (skier, place)).collect()
    }

    /// Publishes the last group after its commit, or discards it if it is `lost`. Called for each of its jobs, before
    /// the job's callers get a reply.
    pub(super) fn settle(&self, lost: Option<&SharedError>) {
        let mut progress = self.progress.lock();
        if lost.is_some() {
            progress.of_group = progress.committed;
            self.days.discard_group();
            self.entries.discard_group();
        } else {
            progress.committed = progress.of_group;
            self.days.publish_group();
            self.entries.publish_group();
        }
    }
}
