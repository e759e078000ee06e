//! Leaderboards: the skiers with the most vertical on a day, or in a season, at a resort.
//!
//! A leaderboard stores only the first one or two thousand skiers, so that rides of skiers below its floor do not
//! change it. It has every skier at or above the floor, so its entries are correct.

use std::{cmp::Reverse, collections::BTreeMap};

use lodge_domain::rides::{DayTally, HIDDEN_MAX, LEADERS_MAX, Leader, SkierId, Span, Tally};
use rusqlite::Connection;

use super::{
    state::{Delta, Entries, key},
    write_back::work::SumChanges,
};
use crate::{failure::Failure, query};

/// Leaders to which a leaderboard is truncated when it has twice as many.
pub(super) const LEADERS_KEPT: u32 = 1_000;

/// Leaders below which, after many voids, a leaderboard with a floor is refilled. So there are enough to show, however
/// many of them are hidden.
pub(super) const LEADERS_MIN: usize = LEADERS_MAX + HIDDEN_MAX;

pub(super) const READ: &str = "SELECT rides, vertical, skiers, leaders, floor_vertical, floor_skier FROM resort_days \
    WHERE season = ?1 AND resort = ?2 AND day = ?3";
pub(super) const WRITE: &str = "INSERT OR REPLACE INTO resort_days \
    (season, resort, day, rides, vertical, skiers, leaders, floor_vertical, floor_skier) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
pub(super) const ALL: &str =
    "SELECT skier, vertical FROM leaders WHERE season = ?1 AND resort = ?2 AND day = ?3";
const IS_HIDDEN: &str = "SELECT 1 FROM passes WHERE skier = ?1 AND hidden";
const TRUNCATE: &str = "DELETE FROM leaders WHERE season = ?1 AND resort = ?2 AND day = ?3 \
    AND (vertical < ?4 OR vertical = ?4 AND skier > ?5)";
pub(super) const CLEAR: &str = "DELETE FROM leaders WHERE season = ?1 AND resort = ?2 AND day = ?3";

/// Scans all skiers; runs only after many voids.
const REFILL: &str = "INSERT INTO leaders (season, resort, day, vertical, skier) \
    SELECT ?1, ?2, ?3, SUM(vertical), skier FROM skier_days WHERE season = ?1 AND resort = ?2 AND (?3 = 0 OR day = ?3) AND rides > 0 \
    GROUP BY skier ORDER BY 4 DESC, skier LIMIT ?4";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 6] = [READ, WRITE, ALL, IS_HIDDEN, TRUNCATE, CLEAR];

/// The change of a skier's vertical; `None` means without rides.
#[derive(Debug, Clone, Copy)]
pub(super) struct VerticalChange {
    pub(super) skier: SkierId,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
}

/// A row of `resort_days`: the sums of a day or a season, and the size and floor of its leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaderboard {
    span: Span,
    pub(super) tally: DayTally,
    leaders: u32,
    floor: Option<Leader>,
}

impl Leaderboard {
    pub(super) fn empty(span: Span) -> Self {
        Self { span, tally: DayTally::default(), leaders: 0, floor: None }
    }

    pub(super) fn read(connection: &Connection, span: Span) -> rusqlite::Result<Self> {
        let read = |row: &rusqlite::Row<'_>| {
            let floor = row.get::<_, Option<u64>>(4)?.zip(row.get::<_, Option<u32>>(5)?);
            Ok(Self {
                span,
                tally: DayTally {
                    tally: Tally { rides: row.get(0)?, vertical: row.get(1)? },
                    skiers: row.get(2)?,
                },
                leaders: row.get(3)?,
                floor: floor.map(|(vertical, skier)| Leader { skier: SkierId(skier), vertical }),
            })
        };
        Ok(query::one(connection, READ, key(span), read)?.unwrap_or_else(|| Self::empty(span)))
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (season, resort, day) = key(self.span);
        let DayTally { tally, skiers } = self.tally;
        let floor = self.floor.map(|floor| (floor.vertical, floor.skier.0)).unzip();
        let row = (
            season,
            resort,
            day,
            tally.rides,
            tally.vertical,
            skiers,
            self.leaders,
            floor.0,
            floor.1,
        );
        query::run(connection, WRITE, row).map(drop)
    }

    pub(super) fn add(&mut self, by: Delta, skiers: i64) {
        self.tally.tally = by.onto(self.tally.tally);
        self.tally.skiers = self.tally.skiers.saturating_add_signed(skiers);
    }

    /// Updates the leaderboard's entries for these moves.
    pub(super) fn apply(&mut self, work: &mut SumChanges<'_>, moves: &[VerticalChange]) {
        for VerticalChange { skier, from, to } in
            moves.iter().filter(|change| change.from != change.to)
        {
            let reaches = |at: &Option<u64>| at.filter(|vertical| self.reaches(*vertical, *skier));
            let (was, is) = (reaches(from), reaches(to));
            if was.is_some() || is.is_some() {
                self.leaders = self.leaders.saturating_sub(u32::from(was.is_some()));
                self.leaders += u32::from(is.is_some());
                work.set_entry(self.span, *skier, is);
            }
        }
    }

    /// Truncates the leaderboard if it is too long, and refills it if it is too short.
    pub(super) fn resize(
        &mut self,
        connection: &Connection,
        work: &mut SumChanges<'_>,
    ) -> rusqlite::Result<()> {
        if self.leaders >= 2 * LEADERS_KEPT {
            self.truncate(connection, work)?;
        } else if self.floor.is_some() && (self.leaders as usize) < LEADERS_MIN {
            work.write_all()?;
            self.refill(connection, work)?;
        }
        Ok(())
    }

    /// Whether a skier with this vertical is on the leaderboard.
    pub(super) fn reaches(&self, vertical: u64, skier: SkierId) -> bool {
        self.floor.is_none_or(|floor| {
            vertical > floor.vertical || vertical == floor.vertical && skier <= floor.skier
        })
    }

    fn truncate(
        &mut self,
        connection: &Connection,
        work: &mut SumChanges<'_>,
    ) -> rusqlite::Result<()> {
        let mut leaders = in_order(all(connection, self.span, work.entries(self.span))?);
        leaders.truncate(LEADERS_KEPT as usize);
        if let Some(floor) = leaders.last().copied() {
            let (season, resort, day) = key(self.span);
            query::run(connection, TRUNCATE, (season, resort, day, floor.vertical, floor.skier.0))?;
            (self.leaders, self.floor) = (LEADERS_KEPT, Some(floor));
        }
        replace_entries(work, self.span, &leaders);
        Ok(())
    }

    /// Refills the leaderboard from all skiers, whose days must have been written back before.
    pub(super) fn refill(
        &mut self,
        connection: &Connection,
        work: &mut SumChanges<'_>,
    ) -> rusqlite::Result<()> {
        let (season, resort, day) = key(self.span);
        query::run(connection, CLEAR, key(self.span))?;
        let filled = query::run(connection, REFILL, (season, resort, day, LEADERS_KEPT))?;
        self.leaders = u32::try_from(filled).unwrap_or(LEADERS_KEPT);
        let leaders = in_order(all(connection, self.span, Entries::new())?);
        self.floor = leaders.get(LEADERS_KEPT as usize - 1).copied();
        replace_entries(work, self.span, &leaders);
        Ok(())
    }
}

/// Replaces the buffered entries of a leaderboard by `leaders`.
pub(super) fn replace_entries(work: &mut SumChanges<'_>, span: Span, leaders: &[Leader]) {
    let leaders: BTreeMap<SkierId, u64> =
        leaders.iter().map(|leader| (leader.skier, leader.vertical)).collect();
    for skier in work.entries(span).into_keys() {
        work.set_entry(span, skier, leaders.get(&skier).copied());
    }
}

/// Returns a leaderboard's entries on disk, overlaid with `newer`.
fn all(
    connection: &Connection,
    span: Span,
    newer: Entries,
) -> rusqlite::Result<BTreeMap<SkierId, u64>> {
    let read = |row: &rusqlite::Row<'_>| Ok((SkierId(row.get(0)?), row.get(1)?));
    let mut leaders: BTreeMap<SkierId, u64> = query::all(connection, ALL, key(span), read)?;
    for (skier, place) in newer {
        match place {
            Some(vertical) => leaders.insert(skier, vertical),
            None => leaders.remove(&skier),
        };
    }
    Ok(leaders)
}

fn in_order(leaders: BTreeMap<SkierId, u64>) -> Vec<Leader> {
    let mut leaders: Vec<Leader> =
        leaders.into_iter().map(|(skier, vertical)| Leader { skier, vertical }).collect();
    leaders.sort_by_key(|leader| Reverse(leader.vertical));
    leaders
}

/// Returns the first leaders, from disk overlaid with `newer`, without hidden skiers.
pub(super) fn shown(
    connection: &Connection,
    span: Span,
    limit: usize,
    newer: Entries,
) -> Result<Vec<Leader>, Failure> {
    let mut is_hidden = connection.prepare_cached(IS_HIDDEN)?;
    let mut shown = Vec::new();
    for leader in in_order(all(connection, span, newer)?) {
        if shown.len() == limit.min(LEADERS_MAX) {
            break;
        }
        if !is_hidden.exists([leader.skier.0])? {
            shown.push(leader);
        }
    }
    Ok(shown)
}
