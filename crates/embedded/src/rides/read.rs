//! Reads sums of rides.

use lodge_domain::rides::{
    Breakdown, Day, DayTally, ForEver, Hour, HourTally, LiftId, LiftTally, ResortDay, ResortId,
    Season, SkierId, Span, Tally,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    day_number,
    skier_days::{self, DayState},
};
use crate::failure::Failure;

const SKIER_DAY: &str = "SELECT rides, vertical FROM skier_days WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4 AND rides > 0";
const TOTAL: &str = "SELECT rides, vertical, skiers FROM resort_days WHERE season = ?1 AND resort = ?2 AND day = ?3";
const DAYS: &str = "SELECT rides, vertical, skiers, day FROM resort_days \
    WHERE season = ?1 AND resort = ?2 AND day > 0 AND rides > 0 ORDER BY day";
const LIFTS: &str = "SELECT lift, rides, vertical FROM lift_days \
    WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0 ORDER BY lift";
const HOURS: &str = "SELECT hour, rides, vertical FROM hour_days \
    WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0 ORDER BY hour";
const LEDGER: &str = "SELECT stored, duplicates, refused FROM ride_ledger WHERE one = 1";

/// One for each season of each resort, and one for each day of the newest: some thousand rows.
const SEASONS: &str =
    "SELECT season FROM resort_days WHERE resort = ?1 AND day = 0 AND rides > 0 ORDER BY season";
const NEWEST_SEASON: &str =
    "SELECT season FROM resort_days WHERE day = 0 AND rides > 0 ORDER BY season DESC LIMIT 1";
const NEWEST_DAY: &str =
    "SELECT day FROM resort_days WHERE season = ?1 AND rides > 0 ORDER BY day DESC LIMIT 1";

/// Those of these that find what they read by an index; the seasons are looked for among as many rows as
/// there are days at all resorts.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 7] = [SKIER_DAY, TOTAL, DAYS, LIFTS, HOURS, LEDGER, NEWEST_DAY];

pub(super) fn skier_day(
    connection: &Connection,
    skier: SkierId,
    on: ResortDay,
) -> Result<Option<Tally>, Failure> {
    let key = (skier.0, on.season.0, on.resort.0, on.day.0);
    let read = |row: &Row<'_>| tally(row, 0);
    Ok(connection.prepare_cached(SKIER_DAY)?.query_row(key, read).optional()?)
}

/// A skier's days on which they rode, those of `newer` as they are there, by season, resort and day.
pub(super) fn skier_days(
    connection: &Connection,
    skier: SkierId,
    newer: Vec<DayState>,
) -> Result<Vec<DayState>, Failure> {
    let mut days = skier_days::overlay(skier_days::on_disk(connection, skier)?, newer);
    days.retain(|state| state.tally.rides > 0);
    Ok(days)
}

pub(super) fn total(connection: &Connection, span: Span) -> Result<DayTally, Failure> {
    let key = (span.season.0, span.resort.0, day_number(span));
    let found = connection.prepare_cached(TOTAL)?.query_row(key, day_tally).optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn days(
    connection: &Connection,
    resort: ResortId,
    season: Season,
) -> Result<Vec<(Day, DayTally)>, Failure> {
    let read = |row: &Row<'_>| Ok((Day(row.get(3)?), day_tally(row)?));
    let mut statement = connection.prepare_cached(DAYS)?;
    Ok(statement.query_map((season.0, resort.0), read)?.collect::<Result<_, _>>()?)
}

pub(super) fn seasons(connection: &Connection, resort: ResortId) -> Result<Vec<Season>, Failure> {
    let mut statement = connection.prepare_cached(SEASONS)?;
    let read = |row: &Row<'_>| Ok(Season(row.get(0)?));
    Ok(statement.query_map([resort.0], read)?.collect::<Result<_, _>>()?)
}

pub(super) fn breakdown(connection: &Connection, on: ResortDay) -> Result<Breakdown, Failure> {
    let key = (on.season.0, on.resort.0, on.day.0);
    let lift = |row: &Row<'_>| Ok(LiftTally { lift: LiftId(row.get(0)?), tally: tally(row, 1)? });
    let hour = |row: &Row<'_>| Ok(HourTally { hour: Hour(row.get(0)?), tally: tally(row, 1)? });
    let (mut lifts, mut hours) =
        (connection.prepare_cached(LIFTS)?, connection.prepare_cached(HOURS)?);
    Ok(Breakdown {
        lifts: lifts.query_map(key, lift)?.collect::<Result<_, _>>()?,
        hours: hours.query_map(key, hour)?.collect::<Result<_, _>>()?,
    })
}

pub(super) fn newest_day(connection: &Connection) -> Result<Option<(Season, Day)>, Failure> {
    let one = |sql: &str, season: Option<u16>| {
        let mut statement = connection.prepare_cached(sql)?;
        let read = |row: &Row<'_>| row.get::<_, u16>(0);
        match season {
            Some(season) => statement.query_row([season], read).optional(),
            None => statement.query_row([], read).optional(),
        }
    };
    let Some(season) = one(NEWEST_SEASON, None)? else { return Ok(None) };
    Ok(one(NEWEST_DAY, Some(season))?.map(|day| (Season(season), Day(day))))
}

pub(super) fn ledger(connection: &Connection) -> Result<ForEver, Failure> {
    let read = |row: &Row<'_>| {
        Ok(ForEver { stored: row.get(0)?, duplicates: row.get(1)?, refused: row.get(2)? })
    };
    Ok(connection.prepare_cached(LEDGER)?.query_row([], read)?)
}

/// Rides and vertical, in this order.
fn tally(row: &Row<'_>, first: usize) -> rusqlite::Result<Tally> {
    Ok(Tally { rides: row.get(first)?, vertical: row.get(first + 1)? })
}

/// Rides, vertical and skiers, in this order.
fn day_tally(row: &Row<'_>) -> rusqlite::Result<DayTally> {
    Ok(DayTally { tally: tally(row, 0)?, skiers: row.get(2)? })
}
