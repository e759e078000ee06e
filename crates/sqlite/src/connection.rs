//! Opens connections, each configured for one purpose.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, Result, config::DbConfig};

/// How long a connection waits for a lock. Only checkpoints take locks that the writer needs: while it waits for them,
/// or to truncate the log.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prepared statements cached per connection.
const STATEMENTS_KEPT: usize = 64;

/// Opens the connection that writes; deleted content is overwritten with zeros. The WAL file is truncated to
/// `wal_kept_bytes` when the log restarts.
pub(crate) fn writer(
    path: &Path,
    page_cache_bytes: usize,
    wal_kept_bytes: u64,
) -> Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, page_cache_bytes)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "journal_size_limit", wal_kept_bytes.cast_signed())?;
    Ok(connection)
}

/// Opens a connection that reads.
pub(crate) fn reader(path: &Path, page_cache_bytes: usize) -> Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, page_cache_bytes)?;
    connection.pragma_update(None, "query_only", true)?;
    // Sorts that exceed the cache spill to a file; only searches sort so much.
    connection.pragma_update(None, "temp_store", "FILE")?;
    Ok(connection)
}

/// Opens the connection that runs checkpoints.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, 64 * 1024)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

fn open(path: &Path, access: OpenFlags, page_cache_bytes: usize) -> Result<Connection> {
    // No mutex: each connection belongs to one thread.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // Otherwise SQLite replans a cached statement whenever a value that could affect its plan is bound. No value does,
    // because there are no statistics.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Negative: KiB, not pages.
    let page_cache_kib = i64::try_from(page_cache_bytes / 1024).unwrap_or(i64::MAX).max(64);
    connection.pragma_update(None, "cache_size", -page_cache_kib)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}
