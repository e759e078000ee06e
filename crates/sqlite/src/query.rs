//! Statements that a connection keeps prepared.

use rusqlite::{Connection, OptionalExtension, Params, Result, Row};

/// Every row that a statement finds.
pub(crate) fn all<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<C> {
    connection.prepare_cached(sql)?.query_map(values, read)?.collect()
}

/// The row that a statement finds, if it finds one.
pub(crate) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(values, read).optional()
}

/// Runs a statement; how many rows it inserted, changed or deleted.
pub(crate) fn run(connection: &Connection, sql: &str, values: impl Params) -> Result<usize> {
    connection.prepare_cached(sql)?.execute(values)
}
