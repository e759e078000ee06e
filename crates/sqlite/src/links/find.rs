//! The lookup of a link by its short.

use std::sync::LazyLock;

use lodge_domain::links::Short;
use rusqlite::{Connection, Result};

use super::row::{COLUMNS, Stored, read};
use crate::query;

pub(crate) static BY_SHORT: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {COLUMNS} FROM links l WHERE l.short = ?1"));

/// Returns the link that has `short`, also if it has ended or is deleted.
pub(crate) fn by_short(connection: &Connection, short: &Short) -> Result<Option<Stored>> {
    query::one(connection, &BY_SHORT, [short.as_str()], |row| read(row, Some(short.clone())))
}
