//! Columns that several tables have.

use jiff::Timestamp;
use lodge_domain::accounts::Role;
use rusqlite::{Error, Result};

/// A time in milliseconds, read from the column at `index`.
pub(crate) fn instant(index: usize, at: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(at).map_err(|_| Error::IntegralValueOutOfRange(index, at))
}

/// The role of that number, read from the column at `index`.
pub(crate) fn role(index: usize, number: i64) -> Result<Role> {
    lodge_sql::accounts::role(number).map_err(|_| Error::IntegralValueOutOfRange(index, number))
}
