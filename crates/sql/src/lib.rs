//! Stores written once for every SQL database: accounts, sessions, identities, API keys, the board, gates and passes.
//!
//! A store uses a [`Database`], which runs work on a [`Tx`]: `SQLite` on its single writer and its readers, `MariaDB` on
//! a pool of connections. This crate depends on no driver. Work may run more than once, so it must have no effect
//! outside its transaction.

pub mod accounts;
pub mod board;
mod database;
mod failure;
mod key_sessions;
mod keys;
mod moving;
pub mod outcomes;
mod returned;
mod rides;
mod security_events;
mod statement;
mod tx;
mod workers;

pub use self::{
    accounts::{SqlAccounts, SqlIdentities, SqlSessions},
    board::{SqlBoard, SqlReadPositions},
    database::{App, Database, ReadKind, Work},
    failure::Failure,
    key_sessions::SqlKeySessions,
    keys::{KeyTable, SqlKeys, read_key},
    moving::{TableComparison, Watch, compare_accounts, copy_accounts},
    returned::Returned,
    rides::{SqlGates, SqlPasses},
    security_events::{ACTS_KEPT, FAILURES_KEPT, SECURITY_EVENTS_KEPT, SqlSecurityEvents},
    statement::Statement,
    tx::{Columns, FromValue, Row, Tx, Value},
    workers::Workers,
};

/// Returns every statement of every store except those of the board, for tests of query plans. Statements that
/// intentionally read a whole table are left out.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    let of_keys =
        [KeyTable::ApiKeys, KeyTable::Bots].into_iter().flat_map(KeyTable::indexed_statements);
    of_keys
        .chain(outcomes::STATEMENTS.iter().copied())
        .chain(key_sessions::STATEMENTS.iter().copied())
        .chain(accounts::statements())
        .chain(security_events::STATEMENTS.iter().copied())
        .chain(rides::statements())
        .chain(moving::statements())
}
