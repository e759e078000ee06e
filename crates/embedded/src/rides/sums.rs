//! The sums of rides, brought up to what a group of events changed: each row once for the whole group.

use std::collections::BTreeMap;

use lodge_domain::rides::{
    Day, Hour, LiftId, ResortDay, ResortId, Ride, Season, SkierId, Span, Tally,
};
use rusqlite::Connection;

use super::leaders::{Board, Move};

pub(super) const SKIER: &str =
    "SELECT day, rides, vertical FROM skier_days WHERE skier = ?1 AND season = ?2 AND resort = ?3";
const SET_SKIER_DAY: &str = "INSERT OR REPLACE INTO skier_days (skier, season, resort, day, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const END_SKIER_DAY: &str =
    "DELETE FROM skier_days WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4";
const ADD_LIFT: &str = "INSERT INTO lift_days (season, resort, day, lift, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT DO UPDATE SET rides = rides + excluded.rides, vertical = vertical + excluded.vertical";
const ADD_HOUR: &str = "INSERT INTO hour_days (season, resort, day, hour, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT DO UPDATE SET rides = rides + excluded.rides, vertical = vertical + excluded.vertical";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [SKIER, SET_SKIER_DAY, END_SKIER_DAY, ADD_LIFT, ADD_HOUR];

/// What one ride, or its void, changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    skier: SkierId,
    on: ResortDay,
    lift: LiftId,
    pub(super) hour: Hour,
    pub(super) by: Delta,
}

/// By how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) rides: i64,
    pub(super) vertical: i64,
}

impl Change {
    /// A ride that is new (`times` 1), or none any more (-1).
    pub(super) fn of(ride: &Ride, times: i64) -> Self {
        let by = Delta { rides: times, vertical: times * i64::from(ride.vertical) };
        let Ride { on, skier, minute, lift, .. } = *ride;
        Self { skier, on, lift, hour: minute.hour(), by }
    }

    /// Whose season it is in; by this, and then the day, changes are sorted.
    fn season(&self) -> (SkierId, Season, ResortId) {
        (self.skier, self.on.season, self.on.resort)
    }
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

/// What a group of events changes.
#[derive(Default)]
pub(super) struct Changes(Vec<Change>);

impl Changes {
    pub(super) fn add(&mut self, change: Change) {
        self.0.push(change);
    }

    /// Changes the sums.
    pub(super) fn apply(mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.0.sort_unstable_by_key(|change| (change.season(), change.on.day));
        let mut spans: BTreeMap<Span, SpanChange> = BTreeMap::new();
        for season in self.0.chunk_by(|one, next| one.season() == next.season()) {
            apply_season(connection, season, &mut spans)?;
        }
        let (mut lifts, mut hours) = (BTreeMap::new(), BTreeMap::new());
        for Change { on, lift, hour, by, .. } in &self.0 {
            lifts.entry((*on, lift.0)).or_insert_with(Delta::default).add(*by);
            hours.entry((*on, hour.0)).or_insert_with(Delta::default).add(*by);
        }
        for (sql, parts) in [(ADD_LIFT, lifts), (ADD_HOUR, hours)] {
            let mut add = connection.prepare_cached(sql)?;
            for ((ResortDay { season, resort, day }, part), by) in parts {
                add.execute((season.0, resort.0, day.0, part, by.rides, by.vertical))?;
            }
        }
        for (span, change) in spans {
            let mut board = Board::read(connection, span)?;
            board.add(change.by, change.skiers);
            board.apply(connection, &change.moves)?;
            board.write(connection)?;
        }
        Ok(())
    }
}

/// What changes of a day at a resort, or of a season.
#[derive(Default)]
struct SpanChange {
    by: Delta,
    skiers: i64,
    moves: Vec<Move>,
}

impl SpanChange {
    fn add(&mut self, skier: SkierId, before: Tally, after: Tally, by: Delta) {
        self.by.add(by);
        self.skiers += i64::from(after.rides > 0) - i64::from(before.rides > 0);
        let place = |tally: Tally| (tally.rides > 0).then_some(tally.vertical);
        self.moves.push(Move { skier, from: place(before), to: place(after) });
    }
}

/// Changes the days of one skier's season at a resort, all of `changes`.
fn apply_season(
    connection: &Connection,
    changes: &[Change],
    spans: &mut BTreeMap<Span, SpanChange>,
) -> rusqlite::Result<()> {
    let Some(Change { skier, on: ResortDay { season, resort, .. }, .. }) = changes.first().copied()
    else {
        return Ok(());
    };
    let days = skier_days(connection, skier, season, resort)?;
    let mut before = Tally::default();
    for (_, tally) in &days {
        before.rides += tally.rides;
        before.vertical += tally.vertical;
    }
    let mut in_season = Delta::default();
    for changes in changes.chunk_by(|one, next| one.on == next.on) {
        let mut by = Delta::default();
        for change in changes {
            by.add(change.by);
        }
        let on = changes[0].on;
        let known = days.iter().find(|(day, _)| *day == on.day);
        let was = known.map_or(Tally::default(), |(_, tally)| *tally);
        let is = by.onto(was);
        set_skier_day(connection, skier, on, is)?;
        spans.entry(on.into()).or_default().add(skier, was, is, by);
        in_season.add(by);
    }
    let whole = spans.entry(Span { season, resort, day: None }).or_default();
    whole.add(skier, before, in_season.onto(before), in_season);
    Ok(())
}

fn skier_days(
    connection: &Connection,
    skier: SkierId,
    season: Season,
    resort: ResortId,
) -> rusqlite::Result<Vec<(Day, Tally)>> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok((Day(row.get(0)?), Tally { rides: row.get(1)?, vertical: row.get(2)? }))
    };
    let mut statement = connection.prepare_cached(SKIER)?;
    statement.query_map((skier.0, season.0, resort.0), read)?.collect()
}

pub(super) fn set_skier_day(
    connection: &Connection,
    skier: SkierId,
    on: ResortDay,
    tally: Tally,
) -> rusqlite::Result<()> {
    let (ResortDay { season, resort, day }, Tally { rides, vertical }) = (on, tally);
    if rides == 0 {
        let mut end = connection.prepare_cached(END_SKIER_DAY)?;
        return end.execute((skier.0, season.0, resort.0, day.0)).map(drop);
    }
    let mut set = connection.prepare_cached(SET_SKIER_DAY)?;
    set.execute((skier.0, season.0, resort.0, day.0, rides, vertical)).map(drop)
}
