//! Skiers' days, in memory until there are many to be written together.
//!
//! A ride changes one skier's day, and the next ride another's, on another page of the table: written at
//! once, those pages were most of what a ride cost. The rides themselves are on the disk before anybody is
//! answered, one after the other; so a skier's day may be written later, with its neighbours. What was not
//! written when the process ended is made again of the rides when the file is opened: a row says up to which
//! ride it counts, so that no ride counts twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use lodge_domain::rides::{Day, ResortDay, ResortId, Season, SkierId, Tally};
use parking_lot::{Mutex, RwLock};
use rusqlite::{CachedStatement, Connection, Row};

use super::sums::Delta;
use crate::failure::Shared;

const ALL: &str =
    "SELECT season, resort, day, rides, vertical, up_to FROM skier_days WHERE skier = ?1";
const AT_RESORT: &str = "SELECT season, resort, day, rides, vertical, up_to FROM skier_days \
    WHERE skier = ?1 AND season = ?2 AND resort = ?3";
const SET: &str = "INSERT OR REPLACE INTO skier_days (skier, season, resort, day, rides, vertical, up_to) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const WRITTEN_TO: &str = "SELECT written_to FROM ride_ledger WHERE one = 1";
const SET_WRITTEN_TO: &str = "UPDATE ride_ledger SET written_to = ?1 WHERE one = 1";
const NEWER: &str = "SELECT skier, season, resort, day, vertical, voids IS NULL, row FROM rides WHERE row > ?1 ORDER BY row";
const LAST_ROW: &str = "SELECT coalesce(max(row), 0) FROM rides";

/// What is asked of the database here, for the test of plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [ALL, AT_RESORT, SET, WRITTEN_TO, NEWER];

/// Days that are written at least, once there are many: more than a group of a few rides makes newer.
const AT_LEAST: usize = 64;

/// Days that are written at once where others do not bring them along.
const PART: usize = 4_096;

/// When days are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// Skiers' days in memory from which on they are written.
    pub(crate) days: usize,
    /// Rides that were stored since all days were written, from which on they are.
    pub(crate) rides: i64,
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

type Days = BTreeMap<SkierId, Vec<DayState>>;

/// Those that are newer in memory than on the disk.
pub(crate) struct SkierDays {
    /// As of the last commit; what readers see.
    newer: RwLock<Newer>,
    /// What the group under way does; the writer's alone.
    group: Mutex<Group>,
    thresholds: Thresholds,
}

#[derive(Default)]
struct Newer {
    skiers: Days,
    count: usize,
}

#[derive(Default)]
struct Group {
    changed: Days,
    written: Vec<(SkierId, DayState)>,
    progress: Progress,
    /// As of the last commit.
    committed: Progress,
}

/// How far writing has come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The round that is under way: skier after skier, as the table is sorted.
    round: Option<Round>,
    /// Up to this row of rides every skier's day is written.
    written_to: i64,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    /// Who comes next.
    next: SkierId,
    /// The last ride that was stored when it began: in the end all up to it are written.
    last_row: i64,
}

impl SkierDays {
    /// Makes those again that were not written when the file was last closed.
    pub(crate) fn open(
        connection: &Connection,
        thresholds: Thresholds,
    ) -> rusqlite::Result<Arc<Self>> {
        let written_to = connection.query_row(WRITTEN_TO, [], |row| row.get(0))?;
        let progress = Progress { round: None, written_to };
        let group = Group { progress, committed: progress, ..Group::default() };
        let days =
            Arc::new(Self { newer: RwLock::default(), group: Mutex::new(group), thresholds });
        let mut work = Work::new(connection, &days)?;
        let mut statement = connection.prepare(NEWER)?;
        let mut rows = statement.query([written_to])?;
        while let Some(row) = rows.next()? {
            work.replay(row)?;
        }
        work.stage();
        days.committed();
        Ok(days)
    }

    /// A skier's day, if it is newer here.
    pub(super) fn day(&self, skier: SkierId, on: ResortDay) -> Option<Tally> {
        let newer = self.newer.read();
        newer.skiers.get(&skier)?.iter().find(|state| state.on == on).map(|state| state.tally)
    }

    /// Those of a skier's days that are newer here.
    pub(super) fn of(&self, skier: SkierId) -> Vec<DayState> {
        self.newer.read().skiers.get(&skier).cloned().unwrap_or_default()
    }

    /// The last group is on the disk, or it is `lost`, whichever of its parts had succeeded. Called for each
    /// of its parts, before anybody is answered.
    pub(super) fn settle(&self, lost: Option<&Shared>) {
        if lost.is_some() {
            let mut group = self.group.lock();
            let committed = group.committed;
            *group = Group { progress: committed, committed, ..Group::default() };
        } else {
            self.committed();
        }
    }

    fn committed(&self) {
        let mut group = self.group.lock();
        group.committed = group.progress;
        if group.changed.is_empty() && group.written.is_empty() {
            return;
        }
        let mut newer = self.newer.write();
        for (skier, states) in mem::take(&mut group.changed) {
            for state in states {
                newer.set(skier, state);
            }
        }
        for (skier, state) in mem::take(&mut group.written) {
            newer.let_go(skier, state);
        }
    }
}

impl Newer {
    fn set(&mut self, skier: SkierId, state: DayState) {
        self.count += usize::from(put(&mut self.skiers, skier, state));
    }

    /// Forgets a day that is written, unless it has changed since.
    fn let_go(&mut self, skier: SkierId, written: DayState) {
        let Some(states) = self.skiers.get_mut(&skier) else { return };
        let before = states.len();
        states.retain(|state| *state != written);
        self.count -= before - states.len();
        if states.is_empty() {
            self.skiers.remove(&skier);
        }
    }
}

/// True if it was not there before.
fn put(days: &mut Days, skier: SkierId, state: DayState) -> bool {
    let states = days.entry(skier).or_default();
    if let Some(known) = states.iter_mut().find(|known| known.on == state.on) {
        *known = state;
        return false;
    }
    states.push(state);
    true
}

/// What one piece of work does to them. Dropped before it is staged, it has done nothing.
pub(super) struct Work<'c> {
    connection: &'c Connection,
    days: &'c SkierDays,
    changed: Days,
    written: Vec<(SkierId, DayState)>,
    progress: Progress,
    at_resort: CachedStatement<'c>,
}

impl<'c> Work<'c> {
    pub(super) fn new(connection: &'c Connection, days: &'c SkierDays) -> rusqlite::Result<Self> {
        let progress = days.group.lock().progress;
        let at_resort = connection.prepare_cached(AT_RESORT)?;
        let (changed, written) = (Days::new(), Vec::new());
        Ok(Self { connection, days, changed, written, progress, at_resort })
    }

    /// Makes it part of the group.
    pub(super) fn stage(self) {
        let mut group = self.days.group.lock();
        for (skier, states) in self.changed {
            for state in states {
                put(&mut group.changed, skier, state);
            }
        }
        group.written.extend(self.written);
        group.progress = self.progress;
    }

    /// A skier's days in a season at a resort.
    pub(super) fn season(
        &mut self,
        skier: SkierId,
        season: Season,
        resort: ResortId,
    ) -> rusqlite::Result<Vec<DayState>> {
        let key = (skier.0, season.0, resort.0);
        let mut states: Vec<DayState> =
            self.at_resort.query_map(key, read)?.collect::<Result<_, _>>()?;
        let newer = self.newer(skier);
        overlay(
            &mut states,
            newer
                .into_iter()
                .filter(|state| (state.on.season, state.on.resort) == (season, resort)),
        );
        Ok(states)
    }

    pub(super) fn set(&mut self, skier: SkierId, state: DayState) {
        put(&mut self.changed, skier, state);
    }

    /// Those of a skier's days that are newer than on the disk, the newest last.
    fn newer(&self, skier: SkierId) -> Vec<DayState> {
        let mut newer = self.days.of(skier);
        let group = self.days.group.lock();
        for days in [&group.changed, &self.changed] {
            newer.extend(days.get(&skier).into_iter().flatten());
        }
        newer
    }

    fn replay(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let skier = SkierId(row.get(0)?);
        let on = ResortDay {
            season: Season(row.get(1)?),
            resort: ResortId(row.get(2)?),
            day: Day(row.get(3)?),
        };
        let times = if row.get(5)? { 1 } else { -1 };
        let by = Delta { rides: times, vertical: times * row.get::<_, i64>(4)? };
        let row: i64 = row.get(6)?;
        let known = self.season(skier, on.season, on.resort)?;
        let known = known.into_iter().find(|state| state.on == on);
        let (tally, up_to) =
            known.map_or((Tally::default(), 0), |known| (known.tally, known.up_to));
        if row > up_to {
            self.set(skier, DayState { on, tally: by.onto(tally), up_to: row });
        }
        Ok(())
    }

    /// Writes some of those that are newer, if there are many: at least as many as `changed` makes newer.
    pub(super) fn write_some(&mut self, changed: usize) -> rusqlite::Result<()> {
        if self.progress.round.is_none() {
            let last_row = self.last_row()?;
            let Thresholds { days, rides } = self.days.thresholds;
            let count = self.days.newer.read().count;
            if count < days && last_row - self.progress.written_to < rides {
                return Ok(());
            }
            self.progress.round = Some(Round { next: SkierId(0), last_row });
        }
        self.go_on(2 * changed + AT_LEAST).map(drop)
    }

    /// Writes a part of all that are newer; true when those are written that were newer when the first part
    /// was asked for with `begin`.
    pub(super) fn write_round(&mut self, begin: bool) -> rusqlite::Result<bool> {
        if begin {
            let last_row = self.last_row()?;
            self.progress.round = Some(Round { next: SkierId(0), last_row });
        }
        self.go_on(PART)
    }

    /// Writes all that are newer, so that the table is as it should be, in this transaction.
    pub(super) fn write_all(&mut self) -> rusqlite::Result<()> {
        let last_row = self.last_row()?;
        self.progress.round = Some(Round { next: SkierId(0), last_row });
        self.go_on(usize::MAX).map(drop)
    }

    /// The last ride that is stored.
    fn last_row(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached(LAST_ROW)?.query_row([], |row| row.get(0))
    }

    /// Goes on with the round for about so many days; true when it has come to its end.
    fn go_on(&mut self, days: usize) -> rusqlite::Result<bool> {
        let Some(round) = self.progress.round else { return Ok(true) };
        let mut set = self.connection.prepare_cached(SET)?;
        let mut written = 0;
        let skiers = self.skiers_from(round.next, days);
        for skier in &skiers {
            let mut states = Vec::new();
            overlay(&mut states, self.newer(*skier).into_iter());
            for state in states {
                write(&mut set, *skier, state)?;
                self.written.push((*skier, state));
                written += 1;
            }
            if written >= days {
                self.progress.round = Some(Round { next: SkierId(skier.0 + 1), ..round });
                return Ok(false);
            }
        }
        self.connection.prepare_cached(SET_WRITTEN_TO)?.execute([round.last_row])?;
        self.progress = Progress { round: None, written_to: round.last_row };
        Ok(true)
    }

    /// Whose days are newer, from `first` on, at most `limit`, in order.
    fn skiers_from(&self, first: SkierId, limit: usize) -> BTreeSet<SkierId> {
        let (newer, group) = (self.days.newer.read(), self.days.group.lock());
        let mut skiers = BTreeSet::new();
        for days in [&newer.skiers, &group.changed, &self.changed] {
            skiers.extend(days.range(first..).map(|(skier, _)| *skier).take(limit));
        }
        skiers.into_iter().take(limit).collect()
    }
}

/// Puts newer days in the place of older ones.
pub(super) fn overlay(states: &mut Vec<DayState>, newer: impl Iterator<Item = DayState>) {
    for state in newer {
        match states.iter_mut().find(|known| known.on == state.on) {
            Some(known) if known.up_to <= state.up_to => *known = state,
            Some(_) => {}
            None => states.push(state),
        }
    }
}

fn write(set: &mut CachedStatement<'_>, skier: SkierId, state: DayState) -> rusqlite::Result<()> {
    let DayState { on: ResortDay { season, resort, day }, tally, up_to } = state;
    let row = (skier.0, season.0, resort.0, day.0, tally.rides, tally.vertical, up_to);
    set.execute(row).map(drop)
}

/// A skier's days as they are on the disk.
pub(super) fn on_disk(connection: &Connection, skier: SkierId) -> rusqlite::Result<Vec<DayState>> {
    connection.prepare_cached(ALL)?.query_map([skier.0], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<DayState> {
    let on = ResortDay {
        season: Season(row.get(0)?),
        resort: ResortId(row.get(1)?),
        day: Day(row.get(2)?),
    };
    let tally = Tally { rides: row.get(3)?, vertical: row.get(4)? };
    Ok(DayState { on, tally, up_to: row.get(5)? })
}
