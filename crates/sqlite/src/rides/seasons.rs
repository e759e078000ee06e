//! Seasons that were added.

use lodge_domain::rides::{ResortId, Season};
use rusqlite::Connection;

use crate::{failure::Failure, query};

const ADD: &str =
    "INSERT INTO seasons (resort, season) VALUES (?1, ?2) ON CONFLICT (resort, season) DO NOTHING";
const OF_RESORT: &str = "SELECT season FROM seasons WHERE resort = ?1 ORDER BY season";

/// For the test of plans.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [ADD, OF_RESORT];

pub(super) fn add(
    connection: &Connection,
    resort: ResortId,
    season: Season,
) -> Result<(), Failure> {
    query::run(connection, ADD, (resort.0, season.0))?;
    Ok(())
}

pub(super) fn of_resort(connection: &Connection, resort: ResortId) -> Result<Vec<Season>, Failure> {
    Ok(query::all(connection, OF_RESORT, [resort.0], |row| row.get(0).map(Season))?)
}
