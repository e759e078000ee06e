//! The check of skier days. Their table is sorted by skier, so the rows of a day are found by a scan of all rows, on a
//! reader, in bounded steps. Buffered rows are newer than the disk, so the writer checks every difference again after
//! it has written them back.

use std::collections::{BTreeMap, BTreeSet};

use lodge_domain::{
    Result,
    rides::{ResortDay, SkierId},
};
use lodge_sql::App;
use rusqlite::{Connection, Row};

use super::computed::{SkierSum, Sums};
use crate::{
    engine::Engine,
    failure::Failure,
    query,
    rides::{
        state::{DayKey, DayState, Delta, FIRST_DAY, key, resort_day},
        write_back::{days::last_row, work::SumChanges},
    },
};

const WALK: &str = "SELECT skier, season, resort, day, rides, vertical, up_to FROM skier_days \
    WHERE (skier, season, resort, day) > (?1, ?2, ?3, ?4) ORDER BY skier, season, resort, day LIMIT ?5";
const ONE: &str = "SELECT skier, season, resort, day, rides, vertical, up_to FROM skier_days \
    WHERE skier = ?1 AND season = ?2 AND resort = ?3 AND day = ?4";

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [WALK, ONE];

/// A row of `skier_days`, whose values may be invalid.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stored {
    by: Delta,
    up_to: i64,
}

impl Stored {
    /// Whether the row matches the sum of the rides up to `last_row`, the last one.
    fn matches(&self, sum: SkierSum, last_row: i64) -> bool {
        self.by == sum.by && (sum.last..=last_row).contains(&self.up_to)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<(DayKey, Stored)> {
    let by = Delta { rides: row.get(4)?, vertical: row.get(5)? };
    Ok(((SkierId(row.get(0)?), resort_day(row, 1)?), Stored { by, up_to: row.get(6)? }))
}

/// Scans all rows; calls `visit` with each, and the row of the last ride at that time. Returns the final `state`.
pub(super) async fn walk<T: Send + 'static>(
    engine: &Engine,
    piece: usize,
    mut state: T,
    visit: fn(&mut T, SkierId, ResortDay, Stored, i64),
) -> Result<T> {
    let mut after: DayKey = (SkierId(0), FIRST_DAY);
    loop {
        let some = move |connection: &Connection| {
            let (skier, (season, resort, day)) = (after.0.0, key(after.1));
            let values = (skier, season, resort, day, piece);
            let rows: Vec<_> = query::all(connection, WALK, values, read)?;
            let last_row = last_row(connection)?;
            for ((skier, on), stored) in &rows {
                visit(&mut state, *skier, *on, *stored, last_row);
            }
            Ok((state, rows.last().map(|(key, _)| *key)))
        };
        let last;
        (state, last) = engine.exports.read(App::Rides, some).await?;
        let Some(last) = last else { return Ok(state) };
        after = last;
    }
}

/// Sums of the rides of some days, and the skiers whose rows seem to differ.
#[derive(Default)]
pub(super) struct DayCheck {
    sums: BTreeMap<ResortDay, Sums>,
    /// Skiers whose rows were correct.
    right: BTreeMap<ResortDay, BTreeSet<SkierId>>,
    wrong: BTreeMap<ResortDay, BTreeSet<SkierId>>,
    skiers: usize,
}

impl DayCheck {
    pub(super) fn add(&mut self, on: ResortDay, sums: Sums) {
        self.skiers += sums.skiers.len();
        self.sums.insert(on, sums);
    }

    /// Returns the number of skier days.
    pub(super) fn len(&self) -> usize {
        self.skiers
    }

    pub(super) fn visit(&mut self, skier: SkierId, on: ResortDay, stored: Stored, last_row: i64) {
        let Some(sums) = self.sums.get(&on) else { return };
        let is_right = stored.matches(sums.of(skier), last_row);
        let found = if is_right { &mut self.right } else { &mut self.wrong };
        found.entry(on).or_default().insert(skier);
    }

    /// Returns the days with rows that differ or are missing, with those skiers.
    pub(super) fn suspects(mut self) -> Vec<(Sums, Vec<SkierId>)> {
        let mut suspects = Vec::new();
        for (on, sums) in self.sums {
            let right = self.right.remove(&on).unwrap_or_default();
            let mut wrong = self.wrong.remove(&on).unwrap_or_default();
            wrong.extend(sums.skiers.keys().filter(|skier| !right.contains(skier)));
            if !wrong.is_empty() {
                suspects.push((sums, wrong.into_iter().collect()));
            }
        }
        suspects
    }
}

/// Compares the rows of these skiers with the sums of all rides, and repairs them; returns how many were wrong.
pub(super) fn check(
    connection: &Connection,
    work: &mut SumChanges<'_>,
    sums: &Sums,
    skiers: &[SkierId],
) -> Result<u64, Failure> {
    let (Some(on), last_row) = (sums.on(), last_row(connection)?) else { return Ok(0) };
    work.write_all()?;
    let ((season, resort, day), mut wrong) = (key(on), 0);
    for skier in skiers {
        let sum = sums.of(*skier);
        let found = query::one(connection, ONE, (skier.0, season, resort, day), read)?;
        let stored = found.map_or_else(Stored::default, |(_, stored)| stored);
        if !stored.matches(sum, last_row) {
            work.repair(*skier, DayState { on, tally: sum.tally(), up_to: last_row })?;
            wrong += 1;
        }
    }
    Ok(wrong)
}
