//! Skiers' days, in memory until there are many to be written together.
//!
//! A ride changes one skier's day, and the next ride another's, on another page of the table: written at
//! once, those pages were most of what a ride cost. The rides themselves are on the disk before anybody is
//! answered, one after the other; so a skier's day may be written later, with its neighbours. What was not
//! written when the process ended is made again of the rides when the file is opened: a row says up to which
//! ride it counts, so that no ride counts twice.

mod disk;
mod work;

use std::{collections::BTreeMap, mem, ops::RangeInclusive, sync::Arc};

use lodge_domain::rides::{Day, ResortDay, ResortId, Season, SkierId, Tally};
use parking_lot::{Mutex, RwLock};
use rusqlite::Connection;

#[cfg(test)]
pub(crate) use self::disk::STATEMENTS;
pub(super) use self::{disk::read, work::Work};
use crate::failure::Shared;

/// Days for which readers are kept waiting at most when a group of writes becomes theirs to see.
const PUBLISHED_AT_ONCE: usize = 256;

/// When days are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// Skiers' days in memory from which on they are written.
    pub(crate) days: usize,
    /// Rides that were stored since all days were written, from which on they are.
    pub(crate) rides: i64,
    /// Days that are written at once where others do not bring them along.
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
type Key = (SkierId, ResortDay);
type Days = BTreeMap<Key, DayState>;

/// Those that are newer in memory than on the disk.
pub(crate) struct SkierDays {
    /// As of the last commit; what readers see.
    newer: RwLock<Days>,
    /// What the group under way does; the writer's alone.
    group: Mutex<Group>,
    thresholds: Thresholds,
}

#[derive(Default)]
struct Group {
    changed: Days,
    written: Days,
    progress: Progress,
    /// As of the last commit.
    committed: Progress,
}

/// How far writing has come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The round that is under way, through the days as the table is sorted.
    round: Option<Round>,
    /// Up to this row of rides every skier's day is written.
    written_to: i64,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    /// The last day that it wrote.
    after: Option<Key>,
    /// The last ride that was stored when it began: in the end all up to it are written.
    last_row: i64,
}

impl SkierDays {
    /// Makes those again that were not written when the file was last closed.
    pub(crate) fn open(
        connection: &Connection,
        thresholds: Thresholds,
    ) -> rusqlite::Result<Arc<Self>> {
        let written_to = disk::written_to(connection)?;
        let newer = RwLock::new(disk::replay(connection, written_to)?);
        let progress = Progress { round: None, written_to };
        let group = Group { progress, committed: progress, ..Group::default() };
        Ok(Arc::new(Self { newer, group: Mutex::new(group), thresholds }))
    }

    /// Whether none is newer here.
    pub(super) fn are_written(&self) -> bool {
        self.newer.read().is_empty()
    }

    /// A skier's day, if it is newer here.
    pub(super) fn day(&self, skier: SkierId, on: ResortDay) -> Option<Tally> {
        self.newer.read().get(&(skier, on)).map(|state| state.tally)
    }

    /// Those of a skier's days that are newer here.
    pub(super) fn of(&self, skier: SkierId) -> Vec<DayState> {
        self.newer.read().range(keys_of(skier)).map(|(_, state)| *state).collect()
    }

    /// The last group is on the disk, or it is `lost`, whichever of its parts had succeeded. Called for each
    /// of its parts, before anybody is answered.
    pub(super) fn settle(&self, lost: Option<&Shared>) {
        let mut group = self.group.lock();
        if lost.is_some() {
            let committed = group.committed;
            *group = Group { progress: committed, committed, ..Group::default() };
        } else {
            group.committed = group.progress;
            self.publish(mem::take(&mut group.changed), mem::take(&mut group.written));
        }
    }

    /// Shows readers what has changed, and forgets what is written, unless it has changed since.
    fn publish(&self, changed: Days, written: Days) {
        let mut changed = changed.into_iter().peekable();
        while changed.peek().is_some() {
            self.newer.write().extend(changed.by_ref().take(PUBLISHED_AT_ONCE));
        }
        let mut written = written.into_iter().peekable();
        while written.peek().is_some() {
            let mut newer = self.newer.write();
            for (key, state) in written.by_ref().take(PUBLISHED_AT_ONCE) {
                if newer.get(&key) == Some(&state) {
                    newer.remove(&key);
                }
            }
        }
    }
}

/// Puts newer days in the place of older ones; both are sorted, and of one skier.
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

fn keys_of(skier: SkierId) -> RangeInclusive<Key> {
    (skier, FIRST_DAY)..=(skier, LAST_DAY)
}

fn keys_in_season(skier: SkierId, season: Season, resort: ResortId) -> RangeInclusive<Key> {
    let on = |day| ResortDay { season, resort, day };
    (skier, on(FIRST_DAY.day))..=(skier, on(LAST_DAY.day))
}
