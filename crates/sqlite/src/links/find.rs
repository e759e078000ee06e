//! One link by its short.

use std::sync::LazyLock;

use lodge_domain::links::Short;
use rusqlite::{Connection, OptionalExtension, Result};

use super::row::{COLUMNS, Stored, read};

pub(crate) static BY_SHORT: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {COLUMNS} FROM links l WHERE l.short = ?1"));

/// The link that has `short`, over or deleted too.
pub(crate) fn by_short(connection: &Connection, short: &Short) -> Result<Option<Stored>> {
    let mut statement = connection.prepare_cached(&BY_SHORT)?;
    statement.query_row([short.as_str()], |row| read(row, Some(short.clone()))).optional()
}
