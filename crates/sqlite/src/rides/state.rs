//! Types shared by the sums of rides: skier days, leaderboard entries, and their changes.

use std::{collections::BTreeMap, ops::RangeInclusive};

use lodge_domain::rides::{Day, ResortDay, ResortId, Season, SkierId, Span, Tally};
use rusqlite::Row;

/// The sum of a skier's rides on a day at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DayState {
    /// The resort and day.
    pub(super) on: ResortDay,
    /// The sum.
    pub(super) tally: Tally,
    /// The row of the last ride included.
    pub(super) up_to: i64,
}

/// Sorts like the table `skier_days`.
pub(super) type DayKey = (SkierId, ResortDay);
pub(super) type Days = BTreeMap<DayKey, DayState>;

/// Sorts like the table `leaders`.
pub(super) type EntryKey = (Span, SkierId);
/// A leader's vertical; `None` if the skier is not on the leaderboard.
pub(super) type LeaderVertical = Option<u64>;
/// Entries of one leaderboard.
pub(super) type Entries = BTreeMap<SkierId, LeaderVertical>;

/// A change of a sum.
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

    /// Returns the sum plus this change. A subtraction only removes what was added before.
    pub(super) fn onto(self, tally: Tally) -> Tally {
        Tally {
            rides: tally.rides.saturating_add_signed(self.rides),
            vertical: tally.vertical.saturating_add_signed(self.vertical),
        }
    }
}

/// Overlays days of one skier with newer ones.
pub(super) fn overlay(older: Vec<DayState>, newer: Vec<DayState>) -> Vec<DayState> {
    let mut days: BTreeMap<ResortDay, DayState> =
        older.into_iter().map(|state| (state.on, state)).collect();
    for state in newer {
        // The disk was read after the buffer, so it may be newer.
        if days.get(&state.on).is_none_or(|known| known.up_to <= state.up_to) {
            days.insert(state.on, state);
        }
    }
    days.into_values().collect()
}

/// Returns the values of the columns `season`, `resort` and `day`; day 0 is a whole season.
pub(super) fn key(span: impl Into<Span>) -> (u16, u16, u16) {
    let Span { season, resort, day } = span.into();
    (season.0, resort.0, day.map_or(0, |day| day.0))
}

/// Reads the columns of [`key`], the first of which is at `first`.
pub(super) fn resort_day(row: &Row<'_>, first: usize) -> rusqlite::Result<ResortDay> {
    Ok(ResortDay {
        season: Season(row.get(first)?),
        resort: ResortId(row.get(first + 1)?),
        day: Day(row.get(first + 2)?),
    })
}

/// Sorts before every day.
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

pub(super) fn keys_on(span: Span) -> RangeInclusive<EntryKey> {
    (span, SkierId(0))..=(span, SkierId(u32::MAX))
}
