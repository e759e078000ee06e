//! Sums that stay in memory until there are many to be written together: skiers' days, and places among the
//! leaders.
//!
//! A ride changes one skier's day and places, and the next ride another's, on other pages of the tables, all
//! of which a group would write. The rides themselves are on the disk before
//! anybody is answered, one after the other; so these sums may be written later, with their neighbours. What
//! was not written when the process ended is made again of the rides when the file is opened: a skier's day
//! says up to which ride it counts, so that no ride counts twice, and a place follows from the days.

mod days;
mod layers;
mod places;
mod work;

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use lodge_domain::rides::{Day, ResortDay, ResortId, Season, SkierId, Span, Tally};
use parking_lot::Mutex;
use rusqlite::Connection;

use self::layers::Layers;
#[cfg(test)]
pub(crate) use self::{days::STATEMENTS as OF_DAYS, places::STATEMENTS as OF_PLACES};
pub(super) use self::{
    days::{last_row, read},
    work::Work,
};
use crate::failure::Shared;

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

/// A skier's day at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DayState {
    /// Where and when.
    pub(super) on: ResortDay,
    /// The sum.
    pub(super) tally: Tally,
    /// The last ride, by its row, that is in it.
    pub(super) up_to: i64,
}

/// Sorted as the table is.
type DayKey = (SkierId, ResortDay);
type Days = BTreeMap<DayKey, DayState>;

/// Sorted as the table is.
type PlaceKey = (Span, SkierId);
/// How far up a leader went, or that a skier is none.
type Place = Option<u64>;
/// Places on one board.
pub(super) type Places = BTreeMap<SkierId, Place>;

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
    /// Makes those again that were not written when the file was last closed.
    pub(crate) fn open(
        connection: &Connection,
        thresholds: Thresholds,
    ) -> rusqlite::Result<Arc<Self>> {
        let written_to = days::written_to(connection)?;
        let (newer, touched) = days::replay(connection, written_to)?;
        let places = places::replay(connection, &newer, &touched)?;
        let progress = Progress { round: None, written_to };
        Ok(Arc::new(Self {
            days: Layers::new(newer),
            places: Layers::new(places),
            progress: Mutex::new(Steps { of_group: progress, committed: progress }),
            thresholds,
        }))
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

/// Puts newer days in the place of older ones; all are of one skier.
pub(super) fn overlay(older: Vec<DayState>, newer: Vec<DayState>) -> Vec<DayState> {
    let mut days: BTreeMap<ResortDay, DayState> =
        older.into_iter().map(|state| (state.on, state)).collect();
    for state in newer {
        // The disk was read after the memory: it may be ahead.
        if days.get(&state.on).is_none_or(|known| known.up_to <= state.up_to) {
            days.insert(state.on, state);
        }
    }
    days.into_values().collect()
}

const FIRST_DAY: ResortDay = ResortDay { season: Season(0), resort: ResortId(0), day: Day(0) };
const LAST_DAY: ResortDay =
    ResortDay { season: Season(u16::MAX), resort: ResortId(u16::MAX), day: Day(u16::MAX) };

fn keys_of(skier: SkierId) -> RangeInclusive<DayKey> {
    (skier, FIRST_DAY)..=(skier, LAST_DAY)
}

fn keys_in_season(skier: SkierId, season: Season, resort: ResortId) -> RangeInclusive<DayKey> {
    let on = |day| ResortDay { season, resort, day };
    (skier, on(FIRST_DAY.day))..=(skier, on(LAST_DAY.day))
}

fn keys_on(span: Span) -> RangeInclusive<PlaceKey> {
    (span, SkierId(0))..=(span, SkierId(u32::MAX))
}
