//! Sums that stay in memory until there are many to be written together: skiers' days, and places among the
//! leaders.
//!
//! A ride changes one skier's day and places, and the next ride another's, on other pages of the tables, all
//! of which a group would write. The rides themselves are on the disk before
//! anybody is answered, one after the other; so these sums may be written later, with their neighbours. What
//! was not written when the process ended is made again of the rides when the file is opened: a skier's day
//! says up to which ride it counts, so that no ride counts twice, and a place follows from the days.

pub(super) mod days;
mod layers;
mod places;
pub(crate) mod replay;
pub(super) mod work;

use std::collections::BTreeMap;

use lodge_domain::rides::{ResortDay, SkierId, Span, Tally};
use parking_lot::Mutex;

use self::layers::Layers;
use super::state::{DayKey, DayState, Days, Place, PlaceKey, Places, keys_of, keys_on};
use crate::failure::Shared;

#[cfg(test)]
pub(crate) use self::{days::STATEMENTS as OF_DAYS, places::STATEMENTS as OF_PLACES};

/// When these sums are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// Sums in memory from which on they are written.
    pub(crate) sums: usize,
    /// Rides that were stored since all were written, from which on they are.
    pub(crate) rides: i64,
    /// Sums that are written at once where others do not bring them along.
    pub(crate) part: usize,
}

/// Those that are newer in memory than on the disk.
pub(crate) struct WriteBack {
    days: Layers<DayKey, DayState>,
    places: Layers<PlaceKey, Place>,
    progress: Mutex<Steps>,
    thresholds: Thresholds,
}

#[derive(Debug, Default)]
struct Steps {
    /// With what the group under way did.
    of_group: Progress,
    committed: Progress,
}

/// How far writing has come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The round that is under way.
    round: Option<Round>,
    /// The sums of all rides up to this row are written.
    written_to: i64,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    after: After,
    /// The last ride that was stored when it began: in the end the sums of all up to it are written.
    last_row: i64,
}

/// What a round wrote last: days first, as their table is sorted, then places.
#[derive(Debug, Clone, Copy)]
enum After {
    Day(Option<DayKey>),
    Place(Option<PlaceKey>),
}

impl WriteBack {
    fn new(
        thresholds: Thresholds,
        written_to: i64,
        days: Days,
        places: BTreeMap<PlaceKey, Place>,
    ) -> Self {
        let progress = Progress { round: None, written_to };
        Self {
            days: Layers::new(days),
            places: Layers::new(places),
            progress: Mutex::new(Steps { of_group: progress, committed: progress }),
            thresholds,
        }
    }

    /// Whether all are on the disk.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.days.len() + self.places.len()
    }

    /// A skier's day, if it is newer here.
    pub(super) fn day(&self, skier: SkierId, on: ResortDay) -> Option<Tally> {
        self.days.get(&(skier, on)).map(|state| state.tally)
    }

    /// Those of a skier's days that are newer here, sorted.
    pub(super) fn days_of(&self, skier: SkierId) -> Vec<DayState> {
        self.days.range(keys_of(skier)).into_iter().map(|(_, state)| state).collect()
    }

    /// Those places on a board that are newer here.
    pub(super) fn places_on(&self, span: Span) -> Places {
        let places = self.places.range(keys_on(span));
        places.into_iter().map(|((_, skier), place)| (skier, place)).collect()
    }

    /// The last group is on the disk, or it is `lost`, whichever of its parts had succeeded. Called for each
    /// of its parts, before anybody is answered.
    pub(super) fn settle(&self, lost: Option<&Shared>) {
        let mut progress = self.progress.lock();
        if lost.is_some() {
            progress.of_group = progress.committed;
            self.days.forget_group();
            self.places.forget_group();
        } else {
            progress.committed = progress.of_group;
            self.days.publish_group();
            self.places.publish_group();
        }
    }
}
