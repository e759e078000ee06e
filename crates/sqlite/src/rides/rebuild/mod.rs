//! Makes the sums anew of the rides, and says which were wrong. Rides are read beside the writer; it compares,
//! a day at a time, after it has read what came meanwhile.

mod says;
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

use self::{says::Sums, skiers::Days};
use super::{
    SqliteRides,
    state::{FIRST_DAY, key, resort_day},
    write_back::{days::last_row, work::Work},
};
use crate::{failure::Failure, query};

/// Rows that are read at once.
pub(super) const PIECE: usize = 20_000;

/// Skiers' days that are compared in one walk through all, times [`PIECE`].
const PIECES_TOGETHER: usize = 25;

/// Skiers' days that the writer compares at once.
const SUSPECTS: usize = 1_000;

/// The days of which there is anything in a table, one after the other.
const NEXT: [&str; 5] = [
    "SELECT season, resort, day FROM rides INDEXED BY rides_by_day WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM resort_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM leaders WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM lift_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
    "SELECT season, resort, day FROM hour_days WHERE (season, resort, day) > (?1, ?2, ?3) ORDER BY season, resort, day LIMIT 1",
];
const STORED: &str = "SELECT stored FROM ride_ledger WHERE one = 1";
const SET_STORED: &str = "UPDATE ride_ledger SET stored = ?1 WHERE one = 1";

/// For the test of plans.
#[cfg(test)]
pub(crate) fn statements() -> impl Iterator<Item = &'static str> {
    let others = [says::STATEMENTS.as_slice(), &skiers::STATEMENTS, &stored::STATEMENTS].concat();
    NEXT.into_iter().chain([STORED, SET_STORED]).chain(others)
}

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

/// Resorts' seasons, with their days.
type Seasons = BTreeMap<(Season, ResortId), BTreeSet<Day>>;

/// Makes all sums anew; reads at most `piece` rows at once.
pub(crate) async fn rebuild(rides: &SqliteRides, piece: usize) -> Result<Rebuilt> {
    // So that few are otherwise on the disk than they are.
    rides.write_sums().await?;
    let (began_at, seasons) = rides.0.scans.read(App::Rides, seasons).await?;
    let seasons =
        skiers::walk(&rides.0, piece, seasons, |seasons, _, on, _, _| note(seasons, on)).await?;
    let mut rebuild =
        Rebuild { rides, piece, began_at, events: 0, before: 0, wrong: Wrong::default() };
    let mut days = Days::default();
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

/// The last ride, and every day of which anything is stored but skiers' days.
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

/// How far it has come.
struct Rebuild<'r> {
    rides: &'r SqliteRides,
    piece: usize,
    /// The last ride that was stored when it began.
    began_at: i64,
    events: u64,
    /// Those of them that were stored when it began.
    before: i64,
    wrong: Wrong,
}

impl Rebuild<'_> {
    /// Compares a day or a season, but for its skiers' days.
    async fn check(&mut self, sums: Sums) -> Result<Sums> {
        let check =
            |connection: &_, work: &mut Work<'_>, sums: &_| stored::check(connection, work, sums);
        let (sums, wrong) = self.with_all_rides(sums, check).await?;
        self.wrong.merge(&wrong);
        Ok(sums)
    }

    async fn check_skiers(&mut self, days: Days) -> Result<()> {
        let days = skiers::walk(&self.rides.0, self.piece, days, Days::visit).await?;
        for (mut sums, suspects) in days.suspects() {
            for some in suspects.chunks(SUSPECTS) {
                let some = some.to_vec();
                let check = move |connection: &_, work: &mut Work<'_>, sums: &_| {
                    skiers::check(connection, work, sums, &some)
                };
                let wrong;
                (sums, wrong) = self.with_all_rides(sums, check).await?;
                self.wrong.note("skiers' days", wrong);
            }
        }
        Ok(())
    }

    /// Does something in the writer's transaction, with the sums of all rides that are stored there.
    async fn with_all_rides<T: Send + 'static>(
        &self,
        mut sums: Sums,
        check: impl Fn(&Connection, &mut Work<'_>, &Sums) -> Result<T, Failure> + Clone + Send + 'static,
    ) -> Result<(Sums, T)> {
        let (engine, piece) = (&self.rides.0, self.piece);
        loop {
            let beside = move |connection: &Connection| {
                let is_all = sums.read_on(connection, piece)?;
                Ok((sums, is_all))
            };
            let is_all;
            (sums, is_all) = engine.scans.read(App::Rides, beside).await?;
            if !is_all {
                continue;
            }
            // Apart from what follows, in which what is newer is written at once.
            self.rides.write_sums().await?;
            let check = check.clone();
            let in_group = move |connection: &_, work: &mut Work<'_>| {
                let is_all = sums.read_on(connection, piece)?;
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

    /// Rides have their rows one after the other, and none ever goes: those that came since are counted by
    /// that.
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

/// Compares one skier's day in one of the writer's next groups, and puts it right; how many were wrong.
#[cfg(test)]
pub(crate) async fn mend(rides: &SqliteRides, on: ResortDay, skier: SkierId) -> Result<u64> {
    let mend = move |connection: &_, work: &mut Work<'_>| {
        let mut sums = Sums::new(on.into(), 0);
        sums.read_on(connection, PIECE)?;
        skiers::check(connection, work, &sums, &[skier])
    };
    rides.0.rides.write(&rides.0.writer, mend).await
}
