//! What the writer does to the sums that are written back.

use std::collections::BTreeMap;

use lodge_domain::rides::{Day, ResortId, Season, SkierId, Span};
use rusqlite::{CachedStatement, Connection};

use super::{After, Progress, Round, Thresholds, WriteBack, days, layers::Changes, places};
use crate::rides::state::{
    DayKey, DayState, Place, PlaceKey, Places, keys_in_season, keys_of, keys_on,
};

/// What one piece of work does to them. Dropped before it is staged, it has done nothing.
pub(in crate::rides) struct Work<'c> {
    connection: &'c Connection,
    sums: &'c WriteBack,
    days: Changes<DayKey, DayState>,
    places: Changes<PlaceKey, Place>,
    progress: Progress,
    /// Nothing is newer than on the disk.
    all_written: bool,
    in_season: CachedStatement<'c>,
}

impl<'c> Work<'c> {
    pub(in crate::rides) fn new(
        connection: &'c Connection,
        sums: &'c WriteBack,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            sums,
            days: Changes::default(),
            places: Changes::default(),
            progress: sums.progress.lock().of_group,
            all_written: false,
            in_season: connection.prepare_cached(days::IN_SEASON)?,
        })
    }

    /// Makes it part of the group.
    pub(in crate::rides) fn stage(self) {
        self.sums.days.stage(self.days);
        self.sums.places.stage(self.places);
        self.sums.progress.lock().of_group = self.progress;
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
        for state in self.in_season.query_map(key, days::read)? {
            let state = state?;
            states.insert(state.on.day, state);
        }
        let keys = keys_in_season(skier, season, resort);
        let newer = self.sums.days.newest(&self.days, keys, usize::MAX);
        states.extend(newer.into_values().map(|state| (state.on.day, state)));
        Ok(states.into_values().collect())
    }

    /// Puts a skier's day right, for readers at once, and for whoever has a newer one in memory.
    pub(in crate::rides) fn put_right(
        &mut self,
        skier: SkierId,
        state: DayState,
    ) -> rusqlite::Result<()> {
        let mut set = self.connection.prepare_cached(days::SET)?;
        days::write(&mut set, skier, state)?;
        self.set(skier, state);
        Ok(())
    }

    /// Changes a skier's day.
    pub(in crate::rides) fn set(&mut self, skier: SkierId, state: DayState) {
        self.days.changed.insert((skier, state.on), state);
        self.all_written = false;
    }

    /// Those places on a board that are newer than on the disk.
    pub(in crate::rides) fn places(&self, span: Span) -> Places {
        let newest = self.sums.places.newest(&self.places, keys_on(span), usize::MAX);
        newest.into_iter().map(|((_, skier), place)| (skier, place)).collect()
    }

    pub(in crate::rides) fn place(&mut self, span: Span, skier: SkierId, place: Place) {
        self.places.changed.insert((span, skier), place);
        self.all_written = false;
    }

    /// Writes some of those that are newer, if there are many: more than `changed` rides make newer, of which
    /// each changes a day and two places.
    pub(in crate::rides) fn write_some(&mut self, changed: usize) -> rusqlite::Result<()> {
        if self.progress.round.is_none() {
            let stored = days::last_row(self.connection)? - self.progress.written_to;
            let Thresholds { sums, rides, .. } = self.sums.thresholds;
            if self.sums.len() < sums && stored < rides {
                return Ok(());
            }
            self.begin_round()?;
        }
        self.go_on(4 * changed + 1).map(drop)
    }

    /// Writes those days of these skiers that are newer.
    pub(in crate::rides) fn write_days_of(&mut self, skiers: &[SkierId]) -> rusqlite::Result<()> {
        let mut set = self.connection.prepare_cached(days::SET)?;
        for skier in skiers {
            let newer = self.sums.days.newest(&self.days, keys_of(*skier), usize::MAX);
            self.days.write(newer, |(skier, _), state| days::write(&mut set, skier, state))?;
        }
        Ok(())
    }

    /// Writes a part of all that are newer; true when those are written that were newer when the first part
    /// was asked for with `begin`.
    pub(in crate::rides) fn write_round(&mut self, begin: bool) -> rusqlite::Result<bool> {
        if begin {
            self.begin_round()?;
        }
        self.go_on(self.sums.thresholds.part)
    }

    /// Writes all that are newer, so that the tables are as they should be, in this transaction.
    pub(in crate::rides) fn write_all(&mut self) -> rusqlite::Result<()> {
        if !self.all_written {
            self.begin_round()?;
            self.all_written = self.go_on(usize::MAX)?;
        }
        Ok(())
    }

    fn begin_round(&mut self) -> rusqlite::Result<()> {
        let last_row = days::last_row(self.connection)?;
        self.progress.round = Some(Round { after: After::Day(None), last_row });
        Ok(())
    }

    /// Goes on with the round for at most so many sums; true when it has come to its end.
    fn go_on(&mut self, limit: usize) -> rusqlite::Result<bool> {
        let Some(Round { mut after, last_row }) = self.progress.round else { return Ok(true) };
        let mut left = limit;
        if let After::Day(last) = after {
            let mut set = self.connection.prepare_cached(days::SET)?;
            let write = |(skier, _): DayKey, state| days::write(&mut set, skier, state);
            let (last, of_limit) = self.sums.days.write_part(&mut self.days, last, left, write)?;
            left = of_limit;
            after = if left == 0 { After::Day(last) } else { After::Place(None) };
        }
        if let After::Place(last) = after {
            let mut set = self.connection.prepare_cached(places::SET)?;
            let mut end = self.connection.prepare_cached(places::END)?;
            let write = |key, place| places::write(&mut set, &mut end, key, place);
            let (last, of_limit) =
                self.sums.places.write_part(&mut self.places, last, left, write)?;
            (left, after) = (of_limit, After::Place(last));
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
