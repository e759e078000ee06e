//! The origin of this file on the board.

use lodge_domain::{OsRandom, board::Origin};
use rusqlite::{Connection, OptionalExtension, Result};

const OPEN: &str = "SELECT origin FROM board_origins WHERE is_open ORDER BY place LIMIT 1";
const ADD: &str = "INSERT INTO board_origins (origin, is_open) VALUES (?1, 1)";
const CLOSE: &str = "UPDATE board_origins SET is_open = 0";

/// The origin of this file, drawn when it is opened for the first time, or for the first time since a restore.
pub(crate) fn open(connection: &Connection) -> Result<Origin> {
    let kept = connection.query_row(OPEN, [], |row| row.get(0)).optional()?;
    if let Some(origin) = kept.and_then(Origin::new) {
        return Ok(origin);
    }
    let origin = Origin::draw(&OsRandom);
    add(connection, origin)?;
    Ok(origin)
}

/// Adds an origin that writes here.
pub(crate) fn add(connection: &Connection, origin: Origin) -> Result<()> {
    connection.execute(ADD, [origin.number()]).map(drop)
}

/// Closes every origin: what they wrote after a backup was made is not in it, and their numbers must not come again.
pub(crate) fn close_all(connection: &Connection) -> Result<()> {
    connection.execute(CLOSE, []).map(drop)
}
