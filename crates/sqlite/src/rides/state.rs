//! What the sums of rides are made of: skiers' days, places among the leaders, and what changes them.

use std::{collections::BTreeMap, ops::RangeInclusive};

use lodge_domain::rides::{Day, ResortDay, ResortId, Season, SkierId, Span, Tally};
use rusqlite::Row;

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
pub(super) type DayKey = (SkierId, ResortDay);
pub(super) type Days = BTreeMap<DayKey, DayState>;

/// Sorted as the table is.
pub(super) type PlaceKey = (Span, SkierId);
/// How far up a leader went, or that a skier is none.
pub(super) type Place = Option<u64>;
/// Places on one board.
pub(super) type Places = BTreeMap<SkierId, Place>;

/// By how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) rides: i64,
    pub(super) vertical: i64,
}

impl Delta {
    pub(super) fn add(&mut self, other: Self) {
        self.rides += other.rides;
        self.vertical += other.vertical;
    }

    /// A sum with this in it. What is taken away was added before.
    pub(super) fn onto(self, tally: Tally) -> Tally {
        Tally {
            rides: tally.rides.saturating_add_signed(self.rides),
            vertical: tally.vertical.saturating_add_signed(self.vertical),
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

/// The columns `season`, `resort` and `day`; day 0 is a whole season.
pub(super) fn key(span: impl Into<Span>) -> (u16, u16, u16) {
    let Span { season, resort, day } = span.into();
    (season.0, resort.0, day.map_or(0, |day| day.0))
}

/// Reads the columns that [`key`] is for, the first of which is at `first`.
pub(super) fn resort_day(row: &Row<'_>, first: usize) -> rusqlite::Result<ResortDay> {
    Ok(ResortDay {
        season: Season(row.get(first)?),
        resort: ResortId(row.get(first + 1)?),
        day: Day(row.get(first + 2)?),
    })
}

/// Comes before every day.
pub(super) const FIRST_DAY: ResortDay =
    ResortDay { season: Season(0), resort: ResortId(0), day: Day(0) };
const LAST_DAY: ResortDay =
    ResortDay { season: Season(u16::MAX), resort: ResortId(u16::MAX), day: Day(u16::MAX) };

pub(super) fn keys_of(skier: SkierId) -> RangeInclusive<DayKey> {
    (skier, FIRST_DAY)..=(skier, LAST_DAY)
}

pub(super) fn keys_in_season(
    skier: SkierId,
    season: Season,
    resort: ResortId,
) -> RangeInclusive<DayKey> {
    let on = |day| ResortDay { season, resort, day };
    (skier, on(FIRST_DAY.day))..=(skier, on(LAST_DAY.day))
}

pub(super) fn keys_on(span: Span) -> RangeInclusive<PlaceKey> {
    (span, SkierId(0))..=(span, SkierId(u32::MAX))
}
