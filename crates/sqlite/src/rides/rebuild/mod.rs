//! Recomputes the sums from the rides, repairs them, and reports which were wrong. Readers sum up the rides; then the
//! writer adds the rides that arrived meanwhile, and compares one day at a time.

mod computed;
mod skiers;
mod stored;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use lodge_domain::{
    Result,
    rides::{Day, Rebuilt, ResortDay, ResortId, Season, Span},
};
use lodge_sql::App;
use rusqlite::Connection;

#[cfg(test)]
use lodge_domain::rides::SkierId;

use self::{computed::Sums, skiers::DayCheck};
use super::{
    SqliteRides,
    state::{FIRST_DAY, key, resort_day},
    write_back::{days::last_row, work::SumChanges},
};
use crate::{failure::Failure, query};

/// Rows that one request reads.
pub(super) const ROWS_PER_READ: usize = 20_000;

/// Skier days that are compared in one scan of all, in multiples of [`ROWS_PER_READ`].
const PIECES_TOGETHER: usize = 25;

/// Skier days that one write request compares.
const SUSPECTS: usize = 1_000;

/// The next day that has rows in each table.
const NEXT: [&str; 5] = [
    "SELECT season, resort, day FROM rides INDEXED BY rides_by_day WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM resort_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM leaders WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM lift_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM hour_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
];
const STORED: &str = "SELECT stored FROM ride_ledger WHERE one = 1";
const SET_STORED: &str = "UPDATE ride_ledger SET stored = ?1 WHERE one = 1";

/// For the test of query plans.
#[cfg(test)]
pub(crate) fn statements() -> impl Iterator<Item = &'static str> {
    let others =
        [computed::STATEMENTS.as_slice(), &skiers::STATEMENTS, &stored::STATEMENTS].concat();
    NEXT.into_iter().chain([STORED, SET_STORED]).chain(others)
}

/// The number of wrong rows by kind of sum.
#[derive(Debug, Default)]
struct Differences(BTreeMap<&'static str, u64>);

impl Differences {
    fn note(&mut self, what: &'static str, rows: u64) {
        if rows > 0 {
            *self.0.entry(what).or_default() += rows;
        }
    }

    fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, rows)| self.note(what, *rows));
    }
}

/// The seasons of resorts, with their days.
type Seasons = BTreeMap<(Season, ResortId), BTreeSet<Day>>;

/// Checks and repairs all sums; one request reads at most `piece` rows.
pub(crate) async fn rebuild(rides: &SqliteRides, piece: usize) -> Result<Rebuilt> {
    // Writes back buffered sums, so that few rows on disk are out of date.
    rides.write_sums().await?;
    let (began_at, seasons) = rides.0.exports.read(App::Rides, seasons).await?;
    let seasons =
        skiers::walk(&rides.0, piece, seasons, |seasons, _, on, _, _| note(seasons, on)).await?;
    let mut rebuild =
        Rebuild { rides, piece, began_at, events: 0, before: 0, wrong: Differences::default() };
    let mut days = DayCheck::default();
    for ((season, resort), on_days) in seasons {
        let mut whole = Sums::new(Span { season, resort, day: None }, began_at);
        for day in on_days {
            let on = ResortDay { season, resort, day };
            let sums = rebuild.check(Sums::new(on.into(), began_at)).await?;
            rebuild.events += sums.events;
            rebuild.before += sums.before;
            whole.add_day(&sums);
            days.add(on, sums);
            if days.len() >= PIECES_TOGETHER * piece {
                rebuild.check_skiers(mem::take(&mut days)).await?;
            }
        }
        rebuild.check(whole).await?;
    }
    rebuild.check_skiers(days).await?;
    rebuild.check_ledger().await?;
    let Rebuild { events, wrong, .. } = rebuild;
    let differences = wrong.0.into_iter().map(|(what, rows)| (what.to_owned(), rows)).collect();
    Ok(Rebuilt { events, differences })
}

/// Returns the last ride's row, and every day that has rides or sums, except days that only `skier_days` has.
fn seasons(connection: &Connection) -> Result<(i64, Seasons), Failure> {
    let (last_row, mut seasons) = (last_row(connection)?, Seasons::new());
    for sql in NEXT {
        let mut last = FIRST_DAY;
        while let Some(on) = query::one(connection, sql, key(last), |row| resort_day(row, 0))? {
            note(&mut seasons, on);
            last = on;
        }
    }
    Ok((last_row, seasons))
}

fn note(seasons: &mut Seasons, on: ResortDay) {
    let days = seasons.entry((on.season, on.resort)).or_default();
    // Day 0 is the season itself.
    if on.day.0 > 0 {
        days.insert(on.day);
    }
}

/// The progress of a rebuild.
struct Rebuild<'r> {
    rides: &'r SqliteRides,
    piece: usize,
    /// The row of the last ride when the rebuild began.
    began_at: i64,
    events: u64,
    /// The events that were stored when the rebuild began.
    before: i64,
    wrong: Differences,
}

impl Rebuild<'_> {
    /// Checks and repairs a day or a season, except its skier days.
    async fn check(&mut self, sums: Sums) -> Result<Sums> {
        let check = |connection: &_, work: &mut SumChanges<'_>, sums: &_| {
            stored::check(connection, work, sums)
        };
        let (sums, wrong) = self.with_all_rides(sums, check).await?;
        self.wrong.merge(&wrong);
        Ok(sums)
    }

    async fn check_skiers(&mut self, days: DayCheck) -> Result<()> {
        let days = skiers::walk(&self.rides.0, self.piece, days, DayCheck::visit).await?;
        for (mut sums, suspects) in days.suspects() {
            for some in suspects.chunks(SUSPECTS) {
                let some = some.to_vec();
                let check = move |connection: &_, work: &mut SumChanges<'_>, sums: &_| {
                    skiers::check(connection, work, sums, &some)
                };
                let wrong;
                (sums, wrong) = self.with_all_rides(sums, check).await?;
                self.wrong.note("skiers' days", wrong);
            }
        }
        Ok(())
    }

    /// Runs `check` in the writer's transaction with sums that include every stored ride.
    async fn with_all_rides<T: Send + 'static>(
        &self,
        mut sums: Sums,
        check: impl Fn(&Connection, &mut SumChanges<'_>, &Sums) -> Result<T, Failure>
        + Clone
        + Send
        + 'static,
    ) -> Result<(Sums, T)> {
        let (engine, piece) = (&self.rides.0, self.piece);
        loop {
            let beside = move |connection: &Connection| {
                let is_all = sums.add_rides(connection, piece)?;
                Ok((sums, is_all))
            };
            let is_all;
            (sums, is_all) = engine.exports.read(App::Rides, beside).await?;
            if !is_all {
                continue;
            }
            // In requests of its own, so that little is left to write back in the transaction below.
            self.rides.write_sums().await?;
            let check = check.clone();
            let in_group = move |connection: &_, work: &mut SumChanges<'_>| {
                let is_all = sums.add_rides(connection, piece)?;
                let done = if is_all { Some(check(connection, work, &sums)?) } else { None };
                Ok((sums, done))
            };
            let done;
            (sums, done) = engine.rides.write(&engine.writer, in_group).await?;
            if let Some(done) = done {
                return Ok((sums, done));
            }
        }
    }

    /// Checks the ledger. Rides are never deleted and their rows have no gaps, so the rows count those stored since.
    async fn check_ledger(&mut self) -> Result<()> {
        let (before, began_at) = (self.before, self.began_at);
        let check = move |connection: &Connection| {
            let expected = before + last_row(connection)? - began_at;
            let stored: i64 = connection.prepare_cached(STORED)?.query_row([], |row| row.get(0))?;
            if stored != expected {
                query::run(connection, SET_STORED, [expected])?;
            }
            Ok(stored != expected)
        };
        let is_wrong = self.rides.0.writer.write(App::Rides, check).await?;
        self.wrong.note("the ledger", is_wrong.into());
        Ok(())
    }
}

/// Checks and repairs one skier day in one of the writer's next groups; returns how many were wrong.
#[cfg(test)]
pub(crate) async fn repair_skier_day(
    rides: &SqliteRides,
    on: ResortDay,
    skier: SkierId,
) -> Result<u64> {
    let mend = move |connection: &_, work: &mut SumChanges<'_>| {
        let mut sums = Sums::new(on.into(), 0);
        sums.add_rides(connection, ROWS_PER_READ)?;
        skiers::check(connection, work, &sums, &[skier])
    };
    rides.0.rides.write(&rides.0.writer, mend).await
}
