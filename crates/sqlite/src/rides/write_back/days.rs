//! Skier days in the database.

use lodge_domain::rides::{ResortDay, SkierId, Tally};
use rusqlite::{Connection, OptionalExtension, Row, Statement};

use crate::{
    query,
    rides::state::{DayKey, DayState, Days, Delta, key, resort_day},
};

const ONE: &str = "SELECT rides, vertical, up_to FROM skier_days \
    WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4";
pub(super) const IN_SEASON: &str = "SELECT season, resort, day, rides, vertical, up_to FROM skier_days \
    WHERE skier = ?1 AND season = ?2 AND resort = ?3";
pub(super) const SET: &str = "INSERT OR REPLACE INTO skier_days (skier, season, resort, day, rides, vertical, up_to) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const WRITTEN_TO: &str = "SELECT written_to FROM ride_ledger WHERE one = 1";
const SET_WRITTEN_TO: &str = "UPDATE ride_ledger SET written_to = ?1 WHERE one = 1";
const LAST_ROW: &str = "SELECT coalesce(max(row), 0) FROM rides";
/// Sorted by the database, which bounds the memory for it.
const NEWER: &str = "SELECT skier, season, resort, day, vertical, voids IS NULL, row FROM rides \
    WHERE row > ?1 ORDER BY skier, season, resort, day, row";

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [ONE, IN_SEASON, SET, WRITTEN_TO, NEWER];

/// Returns the row of `rides` up to which all sums are written back.
pub(super) fn written_to(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(WRITTEN_TO, [], |row| row.get(0))
}

pub(super) fn set_written_to(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    query::run(connection, SET_WRITTEN_TO, [row]).map(drop)
}

/// Returns the row of the last ride; 0 without rides.
pub(in crate::rides) fn last_row(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached(LAST_ROW)?.query_row([], |row| row.get(0))
}

pub(super) fn write(
    set: &mut Statement<'_>,
    skier: SkierId,
    state: DayState,
) -> rusqlite::Result<()> {
    let DayState { on, tally, up_to } = state;
    let (season, resort, day) = key(on);
    set.execute((skier.0, season, resort, day, tally.rides, tally.vertical, up_to)).map(drop)
}

/// Replays the rides after `written_to`: returns the days that differ from the disk, and the keys, sorted, of all days
/// of these rides.
pub(super) fn replay(
    connection: &Connection,
    written_to: i64,
) -> rusqlite::Result<(Days, Vec<DayKey>)> {
    let mut statement = connection.prepare(NEWER)?;
    let mut one = connection.prepare(ONE)?;
    let (mut newer, mut touched) = (Days::new(), Vec::new());
    let mut rows = statement.query([written_to])?;
    let mut last: Option<(SkierId, DayState)> = None;
    while let Some(row) = rows.next()? {
        let (skier, on) = (SkierId(row.get(0)?), resort_day(row, 1)?);
        let (_, mut state) = match last {
            Some(last) if (last.0, last.1.on) == (skier, on) => last,
            _ => {
                touched.push((skier, on));
                (skier, stored(&mut one, skier, on)?)
            }
        };
        let times = if row.get(5)? { 1 } else { -1 };
        let by = Delta { rides: times, vertical: times * row.get::<_, i64>(4)? };
        let row: i64 = row.get(6)?;
        if row > state.up_to {
            state = DayState { on, tally: by.onto(state.tally), up_to: row };
            newer.insert((skier, on), state);
        }
        last = Some((skier, state));
    }
    Ok((newer, touched))
}

/// Returns a day as last written back; an empty one if it has no row.
fn stored(one: &mut Statement<'_>, skier: SkierId, on: ResortDay) -> rusqlite::Result<DayState> {
    let read = |row: &Row<'_>| state(on, row, 0);
    let found = one.query_row((skier.0, on.season.0, on.resort.0, on.day.0), read).optional()?;
    Ok(found.unwrap_or(DayState { on, tally: Tally::default(), up_to: 0 }))
}

/// Reads the columns of [`IN_SEASON`].
pub(in crate::rides) fn read(row: &Row<'_>) -> rusqlite::Result<DayState> {
    state(resort_day(row, 0)?, row, 3)
}

fn state(on: ResortDay, row: &Row<'_>, first: usize) -> rusqlite::Result<DayState> {
    let tally = Tally { rides: row.get(first)?, vertical: row.get(first + 1)? };
    Ok(DayState { on, tally, up_to: row.get(first + 2)? })
}
