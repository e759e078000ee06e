//! Compares the stored sums of a day or a season with the sums of its rides, and repairs them.

use std::{cmp::Reverse, collections::BTreeMap};

use lodge_domain::{
    Result,
    rides::{Leader, ResortDay, SkierId},
};
use rusqlite::{Connection, Row};

use super::{Differences, computed::Sums};
use crate::{
    failure::Failure,
    query,
    rides::{
        leaders::{self, LEADERS_KEPT, LEADERS_MIN, replace_entries},
        state::{Delta, Entries, key},
        write_back::work::SumChanges,
    },
};

const LEAD: &str =
    "INSERT INTO leaders (season, resort, day, vertical, skier) VALUES (?1, ?2, ?3, ?4, ?5)";

/// A table of sums of a day by lift or hour, and its statements.
struct Parts {
    name: &'static str,
    read: &'static str,
    clear: &'static str,
    add: &'static str,
}

const LIFTS: Parts = Parts {
    name: "lifts' days",
    read: "SELECT lift, rides, vertical FROM lift_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    clear: "DELETE FROM lift_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    add: "INSERT INTO lift_days (season, resort, day, lift, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};
const HOURS: Parts = Parts {
    name: "hours",
    read: "SELECT hour, rides, vertical FROM hour_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    clear: "DELETE FROM hour_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    add: "INSERT INTO hour_days (season, resort, day, hour, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 7] =
    [LEAD, LIFTS.read, LIFTS.clear, LIFTS.add, HOURS.read, HOURS.clear, HOURS.add];

/// Checks and repairs a day or a season, except its skier days.
pub(super) fn check(
    connection: &Connection,
    work: &mut SumChanges<'_>,
    sums: &Sums,
) -> Result<Differences, Failure> {
    let mut wrong = Differences::default();
    if let Some(on) = sums.on() {
        for (parts, expected) in [(&LIFTS, &sums.lifts), (&HOURS, &sums.hours)] {
            wrong.note(parts.name, check_parts(connection, on, parts, expected)?);
        }
    }
    check_leaderboard(connection, work, sums, &mut wrong)?;
    Ok(wrong)
}

fn check_parts(
    connection: &Connection,
    on: ResortDay,
    parts: &Parts,
    expected: &BTreeMap<u16, Delta>,
) -> Result<u64, Failure> {
    let key = key(on);
    let read = |row: &Row<'_>| {
        Ok((row.get::<_, i64>(0)?, Delta { rides: row.get(1)?, vertical: row.get(2)? }))
    };
    // A row whose rides are all void may exist or not.
    let is_some = |by: &Delta| *by != Delta::default();
    let mut found: BTreeMap<i64, Delta> = query::all(connection, parts.read, key, read)?;
    found.retain(|_, by| is_some(by));
    let expected = expected.iter().filter(|(_, by)| is_some(by));
    let expected: BTreeMap<i64, Delta> =
        expected.map(|(part, by)| (i64::from(*part), *by)).collect();
    let missing = expected.iter().filter(|(part, by)| found.get(part) != Some(by)).count();
    let too_many = found.keys().filter(|part| !expected.contains_key(part)).count();
    if missing + too_many > 0 {
        query::run(connection, parts.clear, key)?;
        let mut add = connection.prepare_cached(parts.add)?;
        for (part, by) in expected {
            add.execute((key.0, key.1, key.2, part, by.rides, by.vertical))?;
        }
    }
    Ok((missing + too_many) as u64)
}

/// An entry of a leaderboard: vertical, skier.
type Entry = (i64, i64);

/// A row of `resort_days`, whose values may be invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LeaderboardRow {
    all: Delta,
    skiers: i64,
    leaders: i64,
    floor: (Option<i64>, Option<i64>),
}

impl LeaderboardRow {
    fn read(connection: &Connection, key: (u16, u16, u16)) -> rusqlite::Result<Self> {
        let read = |row: &Row<'_>| {
            Ok(Self {
                all: Delta { rides: row.get(0)?, vertical: row.get(1)? },
                skiers: row.get(2)?,
                leaders: row.get(3)?,
                floor: (row.get(4)?, row.get(5)?),
            })
        };
        Ok(query::one(connection, leaders::READ, key, read)?.unwrap_or_default())
    }

    /// Whether `leaders` are exactly the `places` at or above the floor, and enough of them.
    fn matches(&self, places: &[Entry], leaders: &[Entry]) -> bool {
        let reaches = |(vertical, skier): &Entry| match self.floor {
            (None, None) => true,
            (Some(floor), Some(last)) => *vertical > floor || *vertical == floor && *skier <= last,
            _ => false,
        };
        let mut expected: Vec<_> = places.iter().filter(|place| reaches(place)).copied().collect();
        expected.sort_unstable_by_key(in_order);
        let is_enough = self.floor.0.is_none() || expected.len() >= LEADERS_MIN;
        is_enough && expected == leaders && usize::try_from(self.leaders) == Ok(leaders.len())
    }
}

fn in_order(place: &Entry) -> (Reverse<i64>, i64) {
    (Reverse(place.0), place.1)
}

fn check_leaderboard(
    connection: &Connection,
    work: &mut SumChanges<'_>,
    sums: &Sums,
    wrong: &mut Differences,
) -> Result<(), Failure> {
    let key = key(sums.span);
    let places: Vec<Entry> =
        sums.verticals().map(|(skier, vertical)| (vertical, skier.0.into())).collect();
    let stored = LeaderboardRow::read(connection, key)?;
    let skiers = i64::try_from(places.len()).unwrap_or(i64::MAX);
    let is_right = stored.all == sums.all && stored.skiers == skiers;
    let shows = stored.matches(&places, &leaders(connection, key, work.entries(sums.span))?);
    let name = if sums.span.day.is_some() { "resorts' days" } else { "resorts' seasons" };
    wrong.note(name, u64::from(!is_right));
    wrong.note("leaderboards", u64::from(!shows));
    let mut board = LeaderboardRow { all: sums.all, skiers, ..stored };
    if !shows {
        let leaders = set_leaders(connection, key, places, &mut board)?;
        replace_entries(work, sums.span, &leaders);
    }
    if board != stored {
        let LeaderboardRow { all: Delta { rides, vertical }, skiers, leaders, floor } = board;
        let row = (key.0, key.1, key.2, rides, vertical, skiers, leaders, floor.0, floor.1);
        query::run(connection, leaders::WRITE, row)?;
    }
    Ok(())
}

/// Returns the leaders in order, from disk overlaid with `newer`.
fn leaders(
    connection: &Connection,
    key: (u16, u16, u16),
    newer: Entries,
) -> rusqlite::Result<Vec<Entry>> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let mut leaders: BTreeMap<i64, i64> = query::all(connection, leaders::ALL, key, read)?;
    for (skier, place) in newer {
        match place {
            Some(vertical) => leaders.insert(skier.0.into(), vertical.cast_signed()),
            None => leaders.remove(&skier.0.into()),
        };
    }
    let mut leaders: Vec<_> =
        leaders.into_iter().map(|(skier, vertical)| (vertical, skier)).collect();
    leaders.sort_unstable_by_key(in_order);
    Ok(leaders)
}

/// Replaces the leaders by the first of these places.
fn set_leaders(
    connection: &Connection,
    key: (u16, u16, u16),
    mut places: Vec<Entry>,
    board: &mut LeaderboardRow,
) -> rusqlite::Result<Vec<Leader>> {
    let kept = LEADERS_KEPT as usize;
    places.sort_unstable_by_key(in_order);
    places.truncate(kept);
    query::run(connection, leaders::CLEAR, key)?;
    let mut lead = connection.prepare_cached(LEAD)?;
    for (vertical, skier) in &places {
        lead.execute((key.0, key.1, key.2, vertical, skier))?;
    }
    board.leaders = i64::try_from(places.len()).unwrap_or(i64::MAX);
    board.floor = places.get(kept - 1).copied().unzip();
    let leader = |(vertical, skier): &Entry| {
        let skier = SkierId(u32::try_from(*skier).ok()?);
        Some(Leader { skier, vertical: vertical.cast_unsigned() })
    };
    Ok(places.iter().filter_map(leader).collect())
}
