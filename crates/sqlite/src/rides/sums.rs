//! Updates the sums of rides for a group of events, each row once per group.

use std::collections::BTreeMap;

use lodge_domain::rides::{Hour, LiftId, ResortDay, ResortId, Ride, Season, SkierId, Span, Tally};
use rusqlite::Connection;

use super::{
    leaders::{Leaderboard, VerticalChange},
    state::{DayState, Delta, key},
    write_back::work::SumChanges,
};

const ADD_LIFT: &str = "INSERT INTO lift_days (season, resort, day, lift, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT DO UPDATE SET rides = rides + excluded.rides, vertical = vertical + excluded.vertical";
const ADD_HOUR: &str = "INSERT INTO hour_days (season, resort, day, hour, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT DO UPDATE SET rides = rides + excluded.rides, vertical = vertical + excluded.vertical";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [ADD_LIFT, ADD_HOUR];

/// The change of sums by one ride or void.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    skier: SkierId,
    on: ResortDay,
    lift: LiftId,
    pub(super) hour: Hour,
    pub(super) by: Delta,
    /// The event's row in `rides`.
    row: i64,
}

impl Change {
    /// Returns the change by a new ride (`times` 1) or a void (-1), stored in this row.
    pub(super) fn of(ride: &Ride, times: i64, row: i64) -> Self {
        let by = Delta { rides: times, vertical: times * i64::from(ride.vertical) };
        let Ride { on, skier, minute, lift, .. } = *ride;
        Self { skier, on, lift, hour: minute.hour(), by, row }
    }

    /// The sort key of changes, before the day.
    fn season(&self) -> (SkierId, Season, ResortId) {
        (self.skier, self.on.season, self.on.resort)
    }
}

/// The changes by a group of events.
#[derive(Default)]
pub(super) struct Changes(Vec<Change>);

impl Changes {
    pub(super) fn add(&mut self, change: Change) {
        self.0.push(change);
    }

    /// Applies the changes to all sums.
    pub(super) fn apply(
        mut self,
        connection: &Connection,
        work: &mut SumChanges<'_>,
    ) -> rusqlite::Result<()> {
        self.0.sort_unstable_by_key(|change| (change.season(), change.on.day));
        let mut spans: BTreeMap<Span, SpanChange> = BTreeMap::new();
        for season in self.0.chunk_by(|one, next| one.season() == next.season()) {
            apply_season(work, season, &mut spans)?;
        }
        let (mut lifts, mut hours) = (BTreeMap::new(), BTreeMap::new());
        for Change { on, lift, hour, by, .. } in &self.0 {
            lifts.entry((*on, lift.0)).or_insert_with(Delta::default).add(*by);
            hours.entry((*on, hour.0)).or_insert_with(Delta::default).add(*by);
        }
        for (sql, parts) in [(ADD_LIFT, lifts), (ADD_HOUR, hours)] {
            let mut add = connection.prepare_cached(sql)?;
            for ((on, part), by) in parts {
                let (season, resort, day) = key(on);
                add.execute((season, resort, day, part, by.rides, by.vertical))?;
            }
        }
        let mut boards = Vec::with_capacity(spans.len());
        for (span, change) in spans {
            let mut leaderboard = Leaderboard::read(connection, span)?;
            leaderboard.add(change.by, change.skiers);
            leaderboard.apply(work, &change.moves);
            boards.push(leaderboard);
        }
        // Only after all changes are applied: a refill writes back all sums, and marks every ride as written back.
        for mut board in boards {
            board.resize(connection, work)?;
            board.write(connection)?;
        }
        Ok(())
    }
}

/// The changes of a day at a resort, or of a season.
#[derive(Default)]
struct SpanChange {
    by: Delta,
    skiers: i64,
    moves: Vec<VerticalChange>,
}

impl SpanChange {
    fn add(&mut self, skier: SkierId, before: Tally, after: Tally, by: Delta) {
        self.by.add(by);
        self.skiers += i64::from(after.rides > 0) - i64::from(before.rides > 0);
        let place = |tally: Tally| (tally.rides > 0).then_some(tally.vertical);
        self.moves.push(VerticalChange { skier, from: place(before), to: place(after) });
    }
}

/// Applies `changes`, all of one skier's season at a resort, to the skier's days.
fn apply_season(
    work: &mut SumChanges<'_>,
    changes: &[Change],
    spans: &mut BTreeMap<Span, SpanChange>,
) -> rusqlite::Result<()> {
    let Some(Change { skier, on: ResortDay { season, resort, .. }, .. }) = changes.first().copied()
    else {
        return Ok(());
    };
    let days = work.season(skier, season, resort)?;
    let mut before = Tally::default();
    for DayState { tally, .. } in &days {
        before.rides += tally.rides;
        before.vertical += tally.vertical;
    }
    let mut in_season = Delta::default();
    for changes in changes.chunk_by(|one, next| one.on == next.on) {
        let (mut by, mut up_to) = (Delta::default(), 0);
        for change in changes {
            by.add(change.by);
            up_to = up_to.max(change.row);
        }
        let on = changes[0].on;
        let known = days.binary_search_by_key(&on, |state| state.on);
        let was = known.map_or_else(|_| Tally::default(), |place| days[place].tally);
        let is = by.onto(was);
        work.set(skier, DayState { on, tally: is, up_to });
        spans.entry(on.into()).or_default().add(skier, was, is, by);
        in_season.add(by);
    }
    let whole = spans.entry(Span { season, resort, day: None }).or_default();
    whole.add(skier, before, in_season.onto(before), in_season);
    Ok(())
}
