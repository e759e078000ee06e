//! Columns that several tables have.

use jiff::Timestamp;
use rusqlite::{Error, Result};

/// A time in milliseconds, read from the column at `index`.
pub(crate) fn instant(index: usize, at: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(at).map_err(|_| Error::IntegralValueOutOfRange(index, at))
}
