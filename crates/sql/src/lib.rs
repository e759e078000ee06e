//! Stores written once for every SQL database: the transactions, the statements and the rows of accounts,
//! their sessions and identities, of API keys, of the board, and of gates and passes.
//!
//! A store is generic over a [`Database`], which runs pieces of work on a [`Tx`]: `SQLite` on its one
//! writer and its readers, `MariaDB` on a pool of connections. No driver is named here. A piece of work
//! may run more than once, so it has no effect outside its transaction.

pub mod accounts;
pub mod board;
mod database;
mod failure;
mod keys;
pub mod outcomes;
mod rides;
mod statement;
mod tx;
mod workers;

pub use self::{
    accounts::{SqlAccounts, SqlIdentities, SqlSessions},
    board::{SqlBoard, SqlReads},
    database::{App, Database, Reads},
    failure::Failure,
    keys::{KeyTable, SqlKeys, read_key},
    rides::{SqlGates, SqlPasses},
    statement::Statement,
    tx::{Columns, FromValue, Row, Tx, Value},
    workers::Workers,
};

/// Every statement of every store, for a test that reads their query plans. Those that list a whole
/// table on purpose are left out.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    let of_keys = [KeyTable::ApiKeys, KeyTable::Bots].into_iter().flat_map(KeyTable::looked_up);
    of_keys
        .chain(outcomes::STATEMENTS.iter().copied())
        .chain(accounts::statements())
        .chain(rides::statements())
}
