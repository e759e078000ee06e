//! Makes the sums anew of the rides, and says which were wrong: a day at a time, so that others write in
//! between, and then the seasons, of which all skiers' days are read once.

use std::collections::{BTreeMap, BTreeSet};

use lodge_domain::{
    Result,
    rides::{
        Day, DayTally, Hour, Leader, LiftId, Minute, Rebuilt, ResortDay, ResortId, Ride, Season,
        SkierId, Span, Tally,
    },
};
use rusqlite::{Connection, Row};

use super::{
    leaders::Board,
    skier_days::Work,
    sums::{Change, Delta},
};
use crate::{engine::Engine, failure::Failure};

const DAYS: &str = "SELECT season, resort, day FROM rides INDEXED BY rides_by_day GROUP BY season, resort, day \
    UNION SELECT season, resort, day FROM resort_days WHERE day > 0";
const RIDES: &str = "SELECT skier, minute, lift, vertical, voids IS NULL FROM rides \
    WHERE season = ?1 AND resort = ?2 AND day = ?3";
const SKIER_DAY: &str = "SELECT rides, vertical FROM skier_days WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4";
/// Up to whichever ride it counted, it counts all that are stored now.
const SET_SKIER_DAY: &str = "INSERT OR REPLACE INTO skier_days (skier, season, resort, day, rides, vertical, up_to) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT coalesce(max(row), 0) FROM rides))";
const SKIER_DAYS: &str = "SELECT season, resort, day, skier, rides, vertical FROM skier_days WHERE rides > 0 ORDER BY skier, season, resort, day";
const SKIERS_OF_DAY: &str =
    "SELECT skier FROM skier_days WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0";
const SEASONS: &str = "SELECT season, resort FROM resort_days GROUP BY season, resort";

/// A table of parts of a day, and its statements.
struct Parts {
    name: &'static str,
    read: &'static str,
    clear: &'static str,
    add: &'static str,
}

const LIFTS: Parts = Parts {
    name: "lifts' days",
    read: "SELECT lift, rides, vertical FROM lift_days WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0",
    clear: "DELETE FROM lift_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    add: "INSERT INTO lift_days (season, resort, day, lift, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};
const HOURS: Parts = Parts {
    name: "hours",
    read: "SELECT hour, rides, vertical FROM hour_days WHERE season = ?1 AND resort = ?2 AND day = ?3 AND rides > 0",
    clear: "DELETE FROM hour_days WHERE season = ?1 AND resort = ?2 AND day = ?3",
    add: "INSERT INTO hour_days (season, resort, day, hour, rides, vertical) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};

/// What was wrong, by what it is a sum of.
#[derive(Debug, Default)]
struct Wrong(BTreeMap<&'static str, u64>);

impl Wrong {
    fn note(&mut self, what: &'static str, rows: u64) {
        if rows > 0 {
            *self.0.entry(what).or_default() += rows;
        }
    }

    fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, rows)| self.note(what, *rows));
    }
}

pub(super) async fn rebuild(engine: &Engine) -> Result<Rebuilt> {
    let (mut events, mut wrong) = (0, Wrong::default());
    for (on, skiers) in engine.scans.read(days).await? {
        let day = move |connection: &_, work: &mut Work<'_>| {
            work.write_all()?;
            rebuild_day(connection, on, skiers)
        };
        let (of_day, wrong_there) = engine.rides.write(&engine.writer, day).await?;
        events += of_day;
        wrong.merge(&wrong_there);
    }
    let seasons = |connection: &_, work: &mut Work<'_>| {
        work.write_all()?;
        rebuild_seasons(connection)
    };
    wrong.merge(&engine.rides.write(&engine.writer, seasons).await?);
    let differences = wrong.0.into_iter().map(|(what, rows)| (what.to_owned(), rows)).collect();
    Ok(Rebuilt { events, differences })
}

/// Every day of which anything is stored, and how many skiers' days the table has of it.
fn days(connection: &Connection) -> Result<BTreeMap<ResortDay, usize>, Failure> {
    let mut days = BTreeMap::new();
    for (sql, skiers) in [(DAYS, 0), (SKIER_DAYS, 1)] {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (season, resort, day) =
                (Season(row.get(0)?), ResortId(row.get(1)?), Day(row.get(2)?));
            *days.entry(ResortDay { season, resort, day }).or_default() += skiers;
        }
    }
    Ok(days)
}

/// The sums of a day, as its rides say.
#[derive(Default)]
struct Sums {
    events: u64,
    skiers: BTreeMap<SkierId, Delta>,
    lifts: BTreeMap<u16, Delta>,
    hours: BTreeMap<u16, Delta>,
    all: Delta,
}

impl Sums {
    fn read(connection: &Connection, on: ResortDay) -> rusqlite::Result<Self> {
        let (mut sums, mut statement) = (Self::default(), connection.prepare_cached(RIDES)?);
        let mut rows = statement.query(key(on))?;
        while let Some(row) = rows.next()? {
            let (skier, minute, lift) = (SkierId(row.get(0)?), Minute(row.get(1)?), row.get(2)?);
            let ride = Ride { on, skier, minute, lift: LiftId(lift), vertical: row.get(3)? };
            let Change { by, hour: Hour(hour), .. } =
                Change::of(&ride, if row.get(4)? { 1 } else { -1 }, 0);
            sums.events += 1;
            sums.all.add(by);
            sums.skiers.entry(skier).or_default().add(by);
            sums.lifts.entry(lift).or_default().add(by);
            sums.hours.entry(hour).or_default().add(by);
        }
        sums.skiers.retain(|_, by| by.rides > 0);
        sums.lifts.retain(|_, by| by.rides > 0);
        sums.hours.retain(|_, by| by.rides > 0);
        Ok(sums)
    }
}

fn rebuild_day(
    connection: &Connection,
    on: ResortDay,
    skiers_there: usize,
) -> Result<(u64, Wrong), Failure> {
    let (sums, mut wrong) = (Sums::read(connection, on)?, Wrong::default());
    for (skier, by) in &sums.skiers {
        let is = by.onto(Tally::default());
        let key = (skier.0, on.season.0, on.resort.0, on.day.0);
        let read = |row: &Row<'_>| Ok(Tally { rides: row.get(0)?, vertical: row.get(1)? });
        let was = connection.prepare_cached(SKIER_DAY)?.query_row(key, read).ok();
        if was != Some(is) {
            set_skier_day(connection, *skier, on, is)?;
            wrong.note("skiers' days", 1);
        }
    }
    for (parts, expected) in [(&LIFTS, &sums.lifts), (&HOURS, &sums.hours)] {
        wrong.note(parts.name, rebuild_parts(connection, on, parts, expected)?);
    }
    if skiers_there > sums.skiers.len() {
        wrong.note("skiers' days", end_others(connection, on, &sums)?);
    }
    let tally =
        DayTally { tally: sums.all.onto(Tally::default()), skiers: sums.skiers.len() as u64 };
    let leader = |(skier, by): (&SkierId, &Delta)| Leader {
        skier: *skier,
        vertical: by.onto(Tally::default()).vertical,
    };
    let skiers = sums.skiers.iter().map(leader).collect();
    rebuild_span(connection, on.into(), tally, skiers, &mut wrong)?;
    Ok((sums.events, wrong))
}

/// Ends the days of skiers who did not ride, looking at those of all.
fn end_others(connection: &Connection, on: ResortDay, sums: &Sums) -> Result<u64, Failure> {
    let skiers: BTreeSet<u32> = connection
        .prepare(SKIERS_OF_DAY)?
        .query_map(key(on), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let others = skiers.into_iter().filter(|skier| !sums.skiers.contains_key(&SkierId(*skier)));
    let mut ended = 0;
    for skier in others {
        set_skier_day(connection, SkierId(skier), on, Tally::default())?;
        ended += 1;
    }
    Ok(ended)
}

fn set_skier_day(
    connection: &Connection,
    skier: SkierId,
    on: ResortDay,
    tally: Tally,
) -> rusqlite::Result<()> {
    let (season, resort, day) = key(on);
    let row = (skier.0, season, resort, day, tally.rides, tally.vertical);
    connection.prepare_cached(SET_SKIER_DAY)?.execute(row).map(drop)
}

fn rebuild_parts(
    connection: &Connection,
    on: ResortDay,
    parts: &Parts,
    expected: &BTreeMap<u16, Delta>,
) -> Result<u64, Failure> {
    let read =
        |row: &Row<'_>| Ok((row.get(0)?, Delta { rides: row.get(1)?, vertical: row.get(2)? }));
    let found: BTreeMap<u16, Delta> = connection
        .prepare_cached(parts.read)?
        .query_map(key(on), read)?
        .collect::<Result<_, _>>()?;
    let missing = expected.iter().filter(|(part, by)| found.get(part) != Some(by)).count();
    let too_many = found.keys().filter(|part| !expected.contains_key(part)).count();
    if missing + too_many > 0 {
        connection.prepare_cached(parts.clear)?.execute(key(on))?;
        let (season, resort, day) = key(on);
        for (part, by) in expected {
            let row = (season, resort, day, part, by.rides, by.vertical);
            connection.prepare_cached(parts.add)?.execute(row)?;
        }
    }
    Ok((missing + too_many) as u64)
}

/// The sums of seasons, and their boards, of all skiers' days.
fn rebuild_seasons(connection: &Connection) -> Result<Wrong, Failure> {
    type InSeason = (DayTally, Vec<Leader>);
    let mut seasons: BTreeMap<(u16, u16), InSeason> = BTreeMap::new();
    let read = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), InSeason::default()));
    for season in connection.prepare(SEASONS)?.query_map([], read)? {
        let (season, empty) = season?;
        seasons.insert(season, empty);
    }
    let mut statement = connection.prepare(SKIER_DAYS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let skier = SkierId(row.get(3)?);
        let (sum, leaders) = seasons.entry((row.get(0)?, row.get(1)?)).or_default();
        let vertical: u64 = row.get(5)?;
        sum.tally.rides += row.get::<_, u64>(4)?;
        sum.tally.vertical += vertical;
        match leaders.last_mut().filter(|last| last.skier == skier) {
            Some(last) => last.vertical += vertical,
            None => leaders.push(Leader { skier, vertical }),
        }
    }
    let mut wrong = Wrong::default();
    for ((season, resort), (mut sum, skiers)) in seasons {
        sum.skiers = skiers.len() as u64;
        let span = Span { season: Season(season), resort: ResortId(resort), day: None };
        rebuild_span(connection, span, sum, skiers, &mut wrong)?;
    }
    Ok(wrong)
}

fn rebuild_span(
    connection: &Connection,
    span: Span,
    tally: DayTally,
    skiers: Vec<Leader>,
    wrong: &mut Wrong,
) -> Result<(), Failure> {
    let mut board = Board::read(connection, span)?;
    let is_right = board.shows(connection, skiers)?;
    if board.tally == tally && is_right {
        return Ok(());
    }
    wrong.note(
        if span.day.is_some() { "resorts' days" } else { "resorts' seasons" },
        u64::from(board.tally != tally),
    );
    wrong.note("leaderboards", u64::from(!is_right));
    board.tally = tally;
    if !is_right {
        board.make_anew(connection)?;
    }
    Ok(board.write(connection)?)
}

fn key(on: ResortDay) -> (u16, u16, u16) {
    (on.season.0, on.resort.0, on.day.0)
}
