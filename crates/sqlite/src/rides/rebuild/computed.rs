//! Sums computed from the rides. Rides are append-only, so these sums can be extended: readers sum up most rides, a
//! bounded number at a time, and the writer's transaction adds the rides stored since.

use std::collections::BTreeMap;

use lodge_domain::rides::{Day, Minute, ResortDay, SkierId, Span, Tally};
use rusqlite::Connection;

use crate::rides::state::Delta;

const NEXT_DAY: &str = "SELECT day FROM rides INDEXED BY rides_by_day \
    WHERE season = ?1 AND resort = ?2 AND day > ?3 ORDER BY day LIMIT 1";
const RIDES: &str = "SELECT skier, minute, lift, vertical, voids IS NULL, row FROM rides INDEXED BY rides_by_day \
    WHERE season = ?1 AND resort = ?2 AND day = ?3 AND row > ?4 ORDER BY row LIMIT ?5";

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [NEXT_DAY, RIDES];

/// The sums of a day's rides, or of a season's.
pub(super) struct Sums {
    pub(super) span: Span,
    /// Events in the sums.
    pub(super) events: u64,
    /// The events that were stored when the rebuild began.
    pub(super) before: i64,
    /// The row of the last ride when the rebuild began.
    began_at: i64,
    /// For each day, the row up to which its rides are included.
    read_to: BTreeMap<u16, i64>,
    pub(super) skiers: BTreeMap<SkierId, SkierSum>,
    pub(super) lifts: BTreeMap<u16, Delta>,
    pub(super) hours: BTreeMap<u16, Delta>,
    pub(super) all: Delta,
}

/// A skier's sum, with the row of the last ride included.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SkierSum {
    pub(super) by: Delta,
    pub(super) last: i64,
}

impl SkierSum {
    pub(super) fn tally(&self) -> Tally {
        self.by.onto(Tally::default())
    }
}

impl Sums {
    pub(super) fn new(span: Span, began_at: i64) -> Self {
        Self {
            span,
            events: 0,
            before: 0,
            began_at,
            read_to: BTreeMap::new(),
            skiers: BTreeMap::new(),
            lifts: BTreeMap::new(),
            hours: BTreeMap::new(),
            all: Delta::default(),
        }
    }

    /// Adds at most `limit` more rides; returns whether no ride is left.
    pub(super) fn add_rides(
        &mut self,
        connection: &Connection,
        limit: usize,
    ) -> rusqlite::Result<bool> {
        let Span { season, resort, day } = self.span;
        if let Some(day) = day {
            return Ok(self.read_day(connection, day, limit)? < limit);
        }
        let mut next = connection.prepare_cached(NEXT_DAY)?;
        let (mut day, mut left) = (0, limit);
        loop {
            let mut rows = next.query((season.0, resort.0, day))?;
            let Some(row) = rows.next()? else { return Ok(true) };
            day = row.get(0)?;
            left -= self.read_day(connection, Day(day), left)?;
            if left == 0 {
                return Ok(false);
            }
        }
    }

    fn read_day(
        &mut self,
        connection: &Connection,
        day: Day,
        limit: usize,
    ) -> rusqlite::Result<usize> {
        let Span { season, resort, .. } = self.span;
        let read_to = self.read_to.entry(day.0).or_default();
        let mut statement = connection.prepare_cached(RIDES)?;
        let mut rows = statement.query((season.0, resort.0, day.0, *read_to, limit))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            let times = if row.get(4)? { 1 } else { -1 };
            let by = Delta { rides: times, vertical: times * row.get::<_, i64>(3)? };
            *read_to = row.get(5)?;
            let skier = self.skiers.entry(SkierId(row.get(0)?)).or_default();
            skier.by.add(by);
            skier.last = *read_to;
            self.lifts.entry(row.get(2)?).or_default().add(by);
            self.hours.entry(Minute(row.get(1)?).hour().0).or_default().add(by);
            self.all.add(by);
            self.events += 1;
            self.before += i64::from(*read_to <= self.began_at);
            read += 1;
        }
        Ok(read)
    }

    /// Adds the sums of a day to those of its season.
    pub(super) fn add_day(&mut self, day: &Self) {
        self.read_to.extend(&day.read_to);
        self.all.add(day.all);
        for (skier, sum) in &day.skiers {
            self.skiers.entry(*skier).or_default().by.add(sum.by);
        }
    }

    /// Returns the sum of a skier; zero for a skier without rides.
    pub(super) fn of(&self, skier: SkierId) -> SkierSum {
        self.skiers.get(&skier).copied().unwrap_or_default()
    }

    /// Returns the skiers with rides, and their vertical.
    pub(super) fn verticals(&self) -> impl Iterator<Item = (SkierId, i64)> {
        let rode = self.skiers.iter().filter(|(_, sum)| sum.by.rides > 0);
        rode.map(|(skier, sum)| (*skier, sum.by.vertical))
    }

    /// Returns the day of the sums; `None` for a season.
    pub(super) fn on(&self) -> Option<ResortDay> {
        let Span { season, resort, day } = self.span;
        day.map(|day| ResortDay { season, resort, day })
    }
}
