//! Changes and write-back of buffered sums by the writer.

use std::collections::BTreeMap;

use lodge_domain::rides::{Day, ResortId, Season, SkierId, Span};
use rusqlite::{CachedStatement, Connection};

use super::{LastWritten, Progress, Round, Thresholds, WriteBack, days, entries, layers::Changes};
use crate::rides::state::{
    DayKey, DayState, Entries, EntryKey, LeaderVertical, keys_in_season, keys_of, keys_on,
};

/// The changes of one job. They have no effect on the buffer unless they are staged.
pub(in crate::rides) struct SumChanges<'c> {
    connection: &'c Connection,
    sums: &'c WriteBack,
    days: Changes<DayKey, DayState>,
    entries: Changes<EntryKey, LeaderVertical>,
    progress: Progress,
    /// No buffered sum is newer than the disk.
    all_written: bool,
    in_season: CachedStatement<'c>,
}

impl<'c> SumChanges<'c> {
    pub(in crate::rides) fn new(
        connection: &'c Connection,
        sums: &'c WriteBack,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            sums,
            days: Changes::default(),
            entries: Changes::default(),
            progress: sums.progress.lock().of_group,
            all_written: false,
            in_season: connection.prepare_cached(days::IN_SEASON)?,
        })
    }

    /// Adds the changes to the current group.
    pub(in crate::rides) fn stage(self) {
        self.sums.days.stage(self.days);
        self.sums.entries.stage(self.entries);
        self.sums.progress.lock().of_group = self.progress;
    }

    /// Returns a skier's days in a season at a resort, sorted.
    pub(in crate::rides) fn season(
        &mut self,
        skier: SkierId,
        season: Season,
        resort: ResortId,
    ) -> rusqlite::Result<Vec<DayState>> {
        let key = (skier.0, season.0, resort.0);
        let mut states: BTreeMap<Day, DayState> = BTreeMap::new();
        for state in self.in_season.query_map(key, days::read)? {
            let state = state?;
            states.insert(state.on.day, state);
        }
        let keys = keys_in_season(skier, season, resort);
        let newer = self.sums.days.newest(&self.days, keys, usize::MAX);
        states.extend(newer.into_values().map(|state| (state.on.day, state)));
        Ok(states.into_values().collect())
    }

    /// Repairs a skier day, on disk and in the buffer.
    pub(in crate::rides) fn repair(
        &mut self,
        skier: SkierId,
        state: DayState,
    ) -> rusqlite::Result<()> {
        let mut set = self.connection.prepare_cached(days::SET)?;
        days::write(&mut set, skier, state)?;
        self.set(skier, state);
        Ok(())
    }

    /// Sets a skier day in the buffer.
    pub(in crate::rides) fn set(&mut self, skier: SkierId, state: DayState) {
        self.days.changed.insert((skier, state.on), state);
        self.all_written = false;
    }

    /// Returns the entries of a leaderboard that are newer than the disk.
    pub(in crate::rides) fn entries(&self, span: Span) -> Entries {
        let newest = self.sums.entries.newest(&self.entries, keys_on(span), usize::MAX);
        newest.into_iter().map(|((_, skier), place)| (skier, place)).collect()
    }

    pub(in crate::rides) fn set_entry(
        &mut self,
        span: Span,
        skier: SkierId,
        place: LeaderVertical,
    ) {
        self.entries.changed.insert((span, skier), place);
        self.all_written = false;
    }

    /// Writes back some sums, if many are buffered: more than `changed` rides add, each of which changes a day and two
    /// leaderboard entries.
    pub(in crate::rides) fn write_some(&mut self, changed: usize) -> rusqlite::Result<()> {
        if self.progress.round.is_none() {
            let stored = days::last_row(self.connection)? - self.progress.written_to;
            let Thresholds { sums, rides, .. } = self.sums.thresholds;
            if self.sums.len() < sums && stored < rides {
                return Ok(());
            }
            self.begin_round()?;
        }
        self.continue_round(4 * changed + 1).map(drop)
    }

    /// Writes back the buffered days of these skiers.
    pub(in crate::rides) fn write_days_of(&mut self, skiers: &[SkierId]) -> rusqlite::Result<()> {
        let mut set = self.connection.prepare_cached(days::SET)?;
        for skier in skiers {
            let newer = self.sums.days.newest(&self.days, keys_of(*skier), usize::MAX);
            self.days.write(newer, |(skier, _), state| days::write(&mut set, skier, state))?;
        }
        Ok(())
    }

    /// Runs one step of a round; `begin` starts a new round. Returns true when all sums that were buffered at its start
    /// are written back.
    pub(in crate::rides) fn write_round(&mut self, begin: bool) -> rusqlite::Result<bool> {
        if begin {
            self.begin_round()?;
        }
        self.continue_round(self.sums.thresholds.part)
    }

    /// Writes back all sums, so that the tables are complete in this transaction.
    pub(in crate::rides) fn write_all(&mut self) -> rusqlite::Result<()> {
        if !self.all_written {
            self.begin_round()?;
            self.all_written = self.continue_round(usize::MAX)?;
        }
        Ok(())
    }

    fn begin_round(&mut self) -> rusqlite::Result<()> {
        let last_row = days::last_row(self.connection)?;
        self.progress.round = Some(Round { after: LastWritten::Day(None), last_row });
        Ok(())
    }

    /// Continues the round with at most `limit` sums; returns true when it is complete.
    fn continue_round(&mut self, limit: usize) -> rusqlite::Result<bool> {
        let Some(Round { mut after, last_row }) = self.progress.round else { return Ok(true) };
        let mut left = limit;
        if let LastWritten::Day(last) = after {
            let mut set = self.connection.prepare_cached(days::SET)?;
            let write = |(skier, _): DayKey, state| days::write(&mut set, skier, state);
            let (last, of_limit) = self.sums.days.write_part(&mut self.days, last, left, write)?;
            left = of_limit;
            after = if left == 0 { LastWritten::Day(last) } else { LastWritten::Place(None) };
        }
        if let LastWritten::Place(last) = after {
            let mut set = self.connection.prepare_cached(entries::SET)?;
            let mut end = self.connection.prepare_cached(entries::END)?;
            let write = |key, place| entries::write(&mut set, &mut end, key, place);
            let (last, of_limit) =
                self.sums.entries.write_part(&mut self.entries, last, left, write)?;
            (left, after) = (of_limit, LastWritten::Place(last));
        }
        if left == 0 {
            self.progress.round = Some(Round { after, last_row });
            return Ok(false);
        }
        days::set_written_to(self.connection, last_row)?;
        self.progress = Progress { round: None, written_to: last_row };
        Ok(true)
    }
}
