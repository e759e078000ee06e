//! What the writer does to skiers' days.

use std::{
    collections::BTreeMap,
    ops::{Bound, RangeBounds},
};

use lodge_domain::rides::{Day, ResortId, Season, SkierId};
use rusqlite::{CachedStatement, Connection};

use super::{DayState, Days, Key, Progress, Round, SkierDays, Thresholds, disk, keys_in_season};

/// What one piece of work does to skiers' days. Dropped before it is staged, it has done nothing.
pub(in crate::rides) struct Work<'c> {
    connection: &'c Connection,
    days: &'c SkierDays,
    changed: Days,
    written: Days,
    progress: Progress,
    /// Nothing is newer than on the disk.
    all_written: bool,
    in_season: CachedStatement<'c>,
}

impl<'c> Work<'c> {
    pub(in crate::rides) fn new(
        connection: &'c Connection,
        days: &'c SkierDays,
    ) -> rusqlite::Result<Self> {
        let progress = days.group.lock().progress;
        let in_season = connection.prepare_cached(disk::IN_SEASON)?;
        let (changed, written) = (Days::new(), Days::new());
        Ok(Self { connection, days, changed, written, progress, all_written: false, in_season })
    }

    /// Makes it part of the group.
    pub(in crate::rides) fn stage(self) {
        let mut group = self.days.group.lock();
        group.changed.extend(self.changed);
        group.written.extend(self.written);
        group.progress = self.progress;
    }

    /// A skier's days in a season at a resort, sorted.
    pub(in crate::rides) fn season(
        &mut self,
        skier: SkierId,
        season: Season,
        resort: ResortId,
    ) -> rusqlite::Result<Vec<DayState>> {
        let key = (skier.0, season.0, resort.0);
        let mut states: BTreeMap<Day, DayState> = BTreeMap::new();
        for state in self.in_season.query_map(key, disk::read)? {
            let state = state?;
            states.insert(state.on.day, state);
        }
        let newer = self.newer(keys_in_season(skier, season, resort), usize::MAX);
        states.extend(newer.into_values().map(|state| (state.on.day, state)));
        Ok(states.into_values().collect())
    }

    pub(in crate::rides) fn set(&mut self, skier: SkierId, state: DayState) {
        self.changed.insert((skier, state.on), state);
        self.all_written = false;
    }

    /// Puts right what was wrong, and in memory too.
    pub(in crate::rides) fn correct(&mut self, skier: SkierId, state: DayState) {
        self.set(skier, state);
    }

    /// The first of the days that are newer than on the disk, at least `limit` if there are so many.
    fn newer(&self, keys: impl RangeBounds<Key> + Clone, limit: usize) -> Days {
        let (newer, group) = (self.days.newer.read(), self.days.group.lock());
        let mut found = Days::new();
        for days in [&*newer, &group.changed, &self.changed] {
            found.extend(days.range(keys.clone()).take(limit));
        }
        found
    }

    /// Writes some of those that are newer, if there are many: more than `changed` makes newer.
    pub(in crate::rides) fn write_some(&mut self, changed: usize) -> rusqlite::Result<()> {
        if self.progress.round.is_none() {
            let stored = disk::last_row(self.connection)? - self.progress.written_to;
            let Thresholds { days, rides, .. } = self.days.thresholds;
            if self.days.newer.read().len() < days && stored < rides {
                return Ok(());
            }
            self.begin_round()?;
        }
        self.go_on(2 * changed + 1).map(drop)
    }

    /// Writes a part of all that are newer; true when those are written that were newer when the first part
    /// was asked for with `begin`.
    pub(in crate::rides) fn write_round(&mut self, begin: bool) -> rusqlite::Result<bool> {
        if begin {
            self.begin_round()?;
        }
        self.go_on(self.days.thresholds.part)
    }

    /// Writes all that are newer, so that the table is as it should be, in this transaction.
    pub(in crate::rides) fn write_all(&mut self) -> rusqlite::Result<()> {
        if !self.all_written {
            self.begin_round()?;
            self.all_written = self.go_on(usize::MAX)?;
        }
        Ok(())
    }

    fn begin_round(&mut self) -> rusqlite::Result<()> {
        let last_row = disk::last_row(self.connection)?;
        self.progress.round = Some(Round { after: None, last_row });
        Ok(())
    }

    /// Goes on with the round for at most so many days; true when it has come to its end.
    fn go_on(&mut self, limit: usize) -> rusqlite::Result<bool> {
        let Some(round) = self.progress.round else { return Ok(true) };
        let begin = round.after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut set = self.connection.prepare_cached(disk::SET)?;
        let (mut written, mut after) = (0, round.after);
        for (key, state) in self.newer((begin, Bound::Unbounded), limit).into_iter().take(limit) {
            disk::write(&mut set, key.0, state)?;
            self.written.insert(key, state);
            (written, after) = (written + 1, Some(key));
        }
        if written == limit {
            self.progress.round = Some(Round { after, ..round });
            return Ok(false);
        }
        disk::set_written_to(self.connection, round.last_row)?;
        self.progress = Progress { round: None, written_to: round.last_row };
        Ok(true)
    }
}
