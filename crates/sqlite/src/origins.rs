//! The origin of this database file on the board.

use lodge_domain::{OsRandom, board::Origin};
use rusqlite::{Connection, OptionalExtension, Result};

const OPEN: &str = "SELECT origin FROM board_origins WHERE is_open ORDER BY place LIMIT 1";
const ADD: &str = "INSERT INTO board_origins (origin, is_open) VALUES (?1, 1)";
const CLOSE: &str = "UPDATE board_origins SET is_open = 0";

/// Returns the origin of this file; draws one when the file is first opened, or first opened after a restore.
pub(crate) fn open(connection: &Connection) -> Result<Origin> {
    let kept = connection.query_row(OPEN, [], |row| row.get(0)).optional()?;
    if let Some(origin) = kept.and_then(Origin::new) {
        return Ok(origin);
    }
    let origin = Origin::draw(&OsRandom);
    add(connection, origin)?;
    Ok(origin)
}

/// Adds an open origin.
pub(crate) fn add(connection: &Connection, origin: Origin) -> Result<()> {
    connection.execute(ADD, [origin.number()]).map(drop)
}

/// Closes every origin: events that they wrote after the backup are not in it, and their seqs must not be reused.
pub(crate) fn close_all(connection: &Connection) -> Result<()> {
    connection.execute(CLOSE, []).map(drop)
}
