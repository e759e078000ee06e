//! Helpers for cached prepared statements.

use rusqlite::{Connection, OptionalExtension, Params, Result, Row};

/// Returns all rows of a query.
pub(crate) fn all<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<C> {
    connection.prepare_cached(sql)?.query_map(values, read)?.collect()
}

/// Returns the first row of a query, if any.
pub(crate) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(values, read).optional()
}

/// Runs a statement; returns how many rows it inserted, changed or deleted.
pub(crate) fn run(connection: &Connection, sql: &str, values: impl Params) -> Result<usize> {
    connection.prepare_cached(sql)?.execute(values)
}
