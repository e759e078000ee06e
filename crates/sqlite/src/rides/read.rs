//! Queries of the sums of rides.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use lodge_domain::rides::{
    AllResortsDay, Breakdown, Day, DayTally, Hour, HourTally, LiftId, LiftTally, ResortDay,
    ResortId, Season, SkierId, Span, StoreTotals, Tally,
};
use rusqlite::{Connection, Row, params_from_iter};

use super::{
    state::{DayState, key, overlay},
    write_back::days,
};
use crate::{failure::Failure, query};

const SKIER_DAY: &str = "SELECT rides, vertical FROM skier_days WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4 AND rides > 0";
const TOTAL: &str = "SELECT rides, vertical, skiers FROM resort_days WHERE season = ?1 AND resort = ?2 AND day = ?3";
const DAYS: &str = "SELECT rides, vertical, skiers, day FROM resort_days \
    WHERE season = ?1 AND resort = ?2 AND day > 0 AND rides > 0 ORDER BY day";
/// One row per resort and day, about a thousand; day 0 is the season.
const SEASON: &str = "SELECT rides, vertical, skiers, day, resort FROM resort_days \
    WHERE season = ?1 AND rides > 0 ORDER BY resort, day";
const LIFTS: &str = "SELECT lift, rides, vertical FROM lift_days \
    WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0 ORDER BY lift";
const HOURS: &str = "SELECT hour, rides, vertical FROM hour_days \
    WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0 ORDER BY hour";
const LEDGER: &str = "SELECT stored, duplicates, refused FROM ride_ledger WHERE one = 1";

const SEASONS: &str = "SELECT season FROM resort_days INDEXED BY resort_seasons \
    WHERE resort = ?1 AND day = 0 AND rides > 0 ORDER BY season";

const ADDED_SEASONS: &str = "SELECT season FROM seasons WHERE resort = ?1 ORDER BY season";

/// The last rides stored, among which the newest day is searched.
const LATEST: u32 = 1_000;
/// The newest days of the last rides, without days whose rides are all void.
const NEWEST_DAYS: &str = "SELECT in_season, on_day, at_resort FROM (SELECT DISTINCT \
        season AS in_season, resort AS at_resort, day AS on_day \
        FROM rides NOT INDEXED WHERE row > (SELECT max(row) FROM rides) - ?1) \
    WHERE EXISTS (SELECT 1 FROM resort_days \
        WHERE season = in_season AND resort = at_resort AND day = on_day AND rides > 0) \
    ORDER BY in_season DESC, on_day DESC";

/// Returns the SQL for a skier's days, limited to these seasons and resorts unless they are empty.
fn skier_days_sql(seasons: &[Season], resorts: &[ResortId]) -> String {
    let among = |column: &str, wanted: usize| match wanted {
        0 => String::new(),
        _ => format!(" AND {column} IN ({})", vec!["?"; wanted].join(", ")),
    };
    let (seasons, resorts) = (among("season", seasons.len()), among("resort", resorts.len()));
    format!(
        "SELECT season, resort, day, rides, vertical, up_to FROM skier_days WHERE skier = ?{seasons}{resorts}"
    )
}

/// For the test of query plans.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    let fixed =
        [SKIER_DAY, TOTAL, DAYS, SEASON, LIFTS, HOURS, LEDGER, SEASONS, ADDED_SEASONS, NEWEST_DAYS];
    let mut statements: Vec<_> = fixed.map(str::to_owned).into();
    for seasons in [&[][..], &[Season(2025); 2]] {
        for resorts in [&[][..], &[ResortId(3); 2]] {
            statements.push(skier_days_sql(seasons, resorts));
        }
    }
    statements
}

pub(super) fn skier_day(
    connection: &Connection,
    skier: SkierId,
    on: ResortDay,
) -> Result<Option<Tally>, Failure> {
    let (season, resort, day) = key(on);
    Ok(query::one(connection, SKIER_DAY, (skier.0, season, resort, day), |row| tally(row, 0))?)
}

/// A filter of a skier's days.
#[derive(Default)]
pub(super) struct DayFilter {
    /// Seasons; empty for all.
    pub(super) seasons: Vec<Season>,
    /// Resorts; empty for all.
    pub(super) resorts: Vec<ResortId>,
}

impl DayFilter {
    fn has(&self, on: ResortDay) -> bool {
        (self.seasons.is_empty() || self.seasons.contains(&on.season))
            && (self.resorts.is_empty() || self.resorts.contains(&on.resort))
    }
}

/// Returns a skier's days with rides, from disk overlaid with `newer`, by season, resort and day.
pub(super) fn skier_days(
    connection: &Connection,
    skier: SkierId,
    wanted: &DayFilter,
    newer: Vec<DayState>,
) -> Result<Vec<DayState>, Failure> {
    let sql = skier_days_sql(&wanted.seasons, &wanted.resorts);
    let keys = iter::once(skier.0)
        .chain(wanted.seasons.iter().map(|season| season.0.into()))
        .chain(wanted.resorts.iter().map(|resort| resort.0.into()));
    let stored = query::all(connection, &sql, params_from_iter(keys), days::read)?;
    let newer = newer.into_iter().filter(|state| wanted.has(state.on)).collect();
    let mut days = overlay(stored, newer);
    days.retain(|state| state.tally.rides > 0);
    Ok(days)
}

pub(super) fn total(connection: &Connection, span: Span) -> Result<DayTally, Failure> {
    Ok(query::one(connection, TOTAL, key(span), day_tally)?.unwrap_or_default())
}

pub(super) fn days(
    connection: &Connection,
    resort: ResortId,
    season: Season,
) -> Result<Vec<(Day, DayTally)>, Failure> {
    let read = |row: &Row<'_>| Ok((Day(row.get(3)?), day_tally(row)?));
    Ok(query::all(connection, DAYS, (season.0, resort.0), read)?)
}

pub(super) fn seasons(connection: &Connection, resort: ResortId) -> Result<Vec<Season>, Failure> {
    Ok(query::all(connection, SEASONS, [resort.0], |row| row.get(0).map(Season))?)
}

pub(super) fn added_seasons(
    connection: &Connection,
    resort: ResortId,
) -> Result<Vec<Season>, Failure> {
    Ok(query::all(connection, ADDED_SEASONS, [resort.0], |row| row.get(0).map(Season))?)
}

/// Looks up each resort, because no index has the seasons alone.
fn seasons_of_all(connection: &Connection, resorts: &[ResortId]) -> Result<Vec<Season>, Failure> {
    let mut all = BTreeSet::new();
    for resort in resorts {
        all.extend(seasons(connection, *resort)?);
    }
    Ok(all.into_iter().collect())
}

pub(super) fn breakdown(connection: &Connection, on: ResortDay) -> Result<Breakdown, Failure> {
    let lift = |row: &Row<'_>| Ok(LiftTally { lift: LiftId(row.get(0)?), tally: tally(row, 1)? });
    let hour = |row: &Row<'_>| Ok(HourTally { hour: Hour(row.get(0)?), tally: tally(row, 1)? });
    let lifts = query::all(connection, LIFTS, key(on), lift)?;
    Ok(Breakdown { lifts, hours: query::all(connection, HOURS, key(on), hour)? })
}

/// Returns a day's sums of all these resorts, read from one snapshot.
pub(super) fn all_resorts_day(
    connection: &Connection,
    resorts: &[ResortId],
    season: Option<Season>,
    day: Option<Day>,
    lifts: usize,
) -> Result<Option<AllResortsDay>, Failure> {
    let moment = connection.unchecked_transaction()?;
    let Some(newest) = newest_day(&moment, resorts)? else { return Ok(None) };
    let season = season.unwrap_or(newest.0);
    let read = |row: &Row<'_>| Ok((ResortId(row.get(4)?), Day(row.get(3)?), day_tally(row)?));
    let resort_days: Vec<_> = query::all(&moment, SEASON, [season.0], read)?;
    let (mut season_total, mut days) = (DayTally::default(), BTreeMap::<Day, Tally>::new());
    for (_, day, total) in &resort_days {
        match day {
            Day(0) => season_total += *total,
            day => *days.entry(*day).or_default() += total.tally,
        }
    }
    let last_ridden = days.keys().next_back().copied();
    let last = if season == newest.0 { Some(newest.1) } else { last_ridden };
    let Some(day) = day.or(last) else { return Ok(None) };
    let mut whole = AllResortsDay {
        season,
        day,
        newest,
        days: days.into_iter().collect(),
        seasons: seasons_of_all(&moment, resorts)?,
        total: DayTally::default(),
        season_total,
        resorts: Vec::new(),
        lifts: Vec::new(),
    };
    for (resort, _, of_resort) in resort_days.iter().filter(|(_, other, _)| *other == day) {
        whole.total += *of_resort;
        whole.resorts.push((*resort, *of_resort));
        let on = ResortDay { season, resort: *resort, day };
        let of_lifts = breakdown(&moment, on)?.lifts.into_iter();
        whole.lifts.extend(of_lifts.map(|lift| (*resort, lift)));
    }
    whole.lifts.sort_by_key(|(_, lift)| Reverse(lift.tally.rides));
    whole.lifts.truncate(lifts);
    Ok(Some(whole))
}

/// Returns the newest day at one of these resorts among the last rides stored.
fn newest_day(
    connection: &Connection,
    resorts: &[ResortId],
) -> Result<Option<(Season, Day)>, Failure> {
    let mut statement = connection.prepare_cached(NEWEST_DAYS)?;
    let mut rows = statement.query([LATEST])?;
    while let Some(row) = rows.next()? {
        if resorts.contains(&ResortId(row.get(2)?)) {
            return Ok(Some((Season(row.get(0)?), Day(row.get(1)?))));
        }
    }
    Ok(None)
}

pub(super) fn ledger(connection: &Connection) -> Result<StoreTotals, Failure> {
    let read = |row: &Row<'_>| {
        Ok(StoreTotals { stored: row.get(0)?, duplicates: row.get(1)?, refused: row.get(2)? })
    };
    Ok(connection.prepare_cached(LEDGER)?.query_row([], read)?)
}

/// Reads rides and vertical, in this order.
fn tally(row: &Row<'_>, first: usize) -> rusqlite::Result<Tally> {
    Ok(Tally { rides: row.get(first)?, vertical: row.get(first + 1)? })
}

/// Reads rides, vertical and skiers, in this order.
fn day_tally(row: &Row<'_>) -> rusqlite::Result<DayTally> {
    Ok(DayTally { tally: tally(row, 0)?, skiers: row.get(2)? })
}
