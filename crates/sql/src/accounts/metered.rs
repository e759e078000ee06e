//! Latency histograms of the account stores, queueing included.

use std::time::Instant;

use lodge_domain::Result;

use crate::{App, Database, Failure, ReadKind, Tx};

/// Seconds of a read.
const READ: &str = "lodge_accounts_store_read_seconds";
/// Seconds of a write, commit included.
const WRITE: &str = "lodge_accounts_store_write_seconds";
/// Seconds of the start of a session, commit included.
const TOKEN_UPDATE: &str = "lodge_accounts_token_update_seconds";

/// Reads a few rows by key.
pub(super) async fn read<T: Send + 'static>(
    database: &dyn Database,
    work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
) -> Result<T> {
    timed(READ, database.read(App::Accounts, ReadKind::ByKey, work)).await
}

/// Reads possibly many rows.
pub(super) async fn scan<T: Send + 'static>(
    database: &dyn Database,
    work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
) -> Result<T> {
    timed(READ, database.read(App::Accounts, ReadKind::Scan, work)).await
}

/// Runs a write transaction.
pub(super) async fn write<T: Send + 'static>(
    database: &dyn Database,
    work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
) -> Result<T> {
    timed(WRITE, database.write(App::Accounts, work)).await
}

/// Writes a session, which also counts in [`TOKEN_UPDATE`].
pub(super) async fn update_token<T: Send + 'static>(
    database: &dyn Database,
    work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
) -> Result<T> {
    timed(TOKEN_UPDATE, write(database, work)).await
}

async fn timed<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let outcome = work.await;
    metrics::histogram!(name).record(began.elapsed());
    outcome
}
