//! Columns that several tables have.

use jiff::Timestamp;
use lodge_domain::accounts::Role;
use rusqlite::{Error, Result};

use crate::failure::Failure;

/// A time in milliseconds, read from the column at `index`.
pub(crate) fn instant(index: usize, at: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(at).map_err(|_| Error::IntegralValueOutOfRange(index, at))
}

/// The role of that number, read from the column at `index`.
pub(crate) fn role(index: usize, number: i64) -> Result<Role> {
    lodge_sql::accounts::role(number).map_err(|_| Error::IntegralValueOutOfRange(index, number))
}

/// A number of the domain as the database has it.
pub(crate) fn number(number: u64) -> std::result::Result<i64, Failure> {
    i64::try_from(number).map_err(|error| lodge_domain::Error::internal(error).into())
}

/// A limit as the database has it.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
