//! Leaderboard entries in the database.

use rusqlite::Statement;

use crate::rides::state::{EntryKey, LeaderVertical, key};

pub(super) const SET: &str = "INSERT OR REPLACE INTO leaders (season, resort, day, skier, vertical) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(super) const END: &str =
    "DELETE FROM leaders WHERE season = ?1 AND resort = ?2 AND day = ?3 AND skier = ?4";

/// For the test of query plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [SET, END];

pub(super) fn write(
    set: &mut Statement<'_>,
    end: &mut Statement<'_>,
    (span, skier): EntryKey,
    place: LeaderVertical,
) -> rusqlite::Result<()> {
    let (season, resort, day) = key(span);
    match place {
        Some(vertical) => set.execute((season, resort, day, skier.0, vertical))?,
        None => end.execute((season, resort, day, skier.0))?,
    };
    Ok(())
}
