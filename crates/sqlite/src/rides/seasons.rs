//! Seasons that were added.

use lodge_domain::rides::{ResortId, Season};
use rusqlite::{Connection, Row};

use crate::failure::Failure;

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
    connection.prepare_cached(ADD)?.execute((resort.0, season.0))?;
    Ok(())
}

pub(super) fn of_resort(connection: &Connection, resort: ResortId) -> Result<Vec<Season>, Failure> {
    let mut statement = connection.prepare_cached(OF_RESORT)?;
    let read = |row: &Row<'_>| Ok(Season(row.get(0)?));
    Ok(statement.query_map([resort.0], read)?.collect::<Result<_, _>>()?)
}
