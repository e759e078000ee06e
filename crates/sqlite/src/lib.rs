//! The embedded engine: every port on one `SQLite` file.
//!
//! One thread writes, with group commit (one fsync per group); a few threads read; one runs checkpoints. Async callers
//! wait for replies and never block on the disk.

mod backup;
mod checkpoints;
mod cleanup;
mod clicks;
mod connection;
mod database;
mod engine;
mod failure;
mod fair_scheduler;
mod folder;
mod inspect;
mod installation;
mod job;
mod links;
mod long_reads;
mod migrations;
mod moving;
mod options;
mod origins;
mod query;
mod readers;
mod replies;
mod rides;
#[cfg(test)]
mod tests;
mod tx;
mod words;
mod writer;

use std::{path::Path, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, Result,
    accounts::{AccountStore, IdentityStore, SessionStore},
    board::{BoardLog, BoardMembers, Channels, HookStore, MessagePictures, ReadPositions, Reports},
    key_sessions::KeySessionStore,
    keys::KeyStore,
    links::{ClickStore, LinkStore, Mode},
    rides::{GateStore, PassStore, RideLog, RideSearch, RideTallies},
    secret::InstallationSecret,
    security::SecurityEventStore,
};
use lodge_sql::{
    Database, KeyTable, SqlAccounts, SqlBoard, SqlGates, SqlIdentities, SqlKeySessions, SqlKeys,
    SqlPasses, SqlReadPositions, SqlSecurityEvents, SqlSessions,
};

pub use crate::{
    backup::{BackupError, restore},
    cleanup::CleanupReport,
    folder::{Folder, OpenError},
    inspect::{Inspected, inspect},
    moving::MovingFolder,
    options::Options,
};
use crate::{
    clicks::SqliteClicks, engine::Engine, links::SqliteLinks, rides::SqliteRides, words::Fts5,
};

/// An open data folder. Clones share it.
#[derive(Clone)]
pub struct Sqlite(Arc<Engine>);

impl Sqlite {
    /// Opens `folder`; creates it if it does not exist. Blocks on the disk.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        Engine::open(folder, options).map(|engine| Self(Arc::new(engine)))
    }

    fn database(&self) -> Arc<dyn Database> {
        self.0.clone()
    }

    /// Returns the link store, without a cache.
    pub fn links(&self) -> Arc<dyn LinkStore> {
        Arc::new(SqliteLinks(Arc::clone(&self.0)))
    }

    /// Returns the click store.
    pub fn clicks(&self) -> Arc<dyn ClickStore> {
        Arc::new(SqliteClicks(Arc::clone(&self.0)))
    }

    /// Returns the store of API keys, without a cache.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(self.database(), KeyTable::ApiKeys))
    }

    /// Returns the store of the page sessions of API keys.
    pub fn key_sessions(&self) -> Arc<dyn KeySessionStore> {
        Arc::new(SqlKeySessions(self.database()))
    }

    /// Returns the store of bot keys, without a cache.
    pub fn bots(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(self.database(), KeyTable::Bots))
    }

    /// Returns the board's event log.
    pub fn board_log(&self) -> Arc<dyn BoardLog> {
        Arc::new(self.board())
    }

    /// Returns the board's channels.
    pub fn board_channels(&self) -> Arc<dyn Channels> {
        Arc::new(self.board())
    }

    /// Returns the board's members.
    pub fn board_people(&self) -> Arc<dyn BoardMembers> {
        Arc::new(self.board())
    }

    /// Returns the members' read positions. Each call creates a store with its own pending positions.
    pub fn board_positions(&self) -> Arc<dyn ReadPositions> {
        Arc::new(SqlReadPositions::new(self.database()))
    }

    /// Returns the reports of messages.
    pub fn board_reports(&self) -> Arc<dyn Reports> {
        Arc::new(self.board())
    }

    /// Returns the pictures of the board's messages.
    pub fn board_pictures(&self) -> Arc<dyn MessagePictures> {
        Arc::new(self.board())
    }

    /// Returns the board's webhooks.
    pub fn board_hooks(&self) -> Arc<dyn HookStore> {
        Arc::new(self.board())
    }

    fn board(&self) -> SqlBoard {
        SqlBoard::new(self.database(), self.0.origin, &Fts5)
    }

    /// Returns the account store.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::new(SqlAccounts(self.database()))
    }

    /// Returns the session store.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SqlSessions::new(self.database(), self.0.feed))
    }

    /// Returns the store of identities linked to accounts.
    pub fn identities(&self) -> Arc<dyn IdentityStore> {
        Arc::new(SqlIdentities(self.database()))
    }

    /// Returns the store of security events.
    pub fn security_events(&self) -> Arc<dyn SecurityEventStore> {
        Arc::new(SqlSecurityEvents(self.database()))
    }

    /// Returns the log of ride events.
    pub fn ride_log(&self) -> Arc<dyn RideLog> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// Returns the gate store, without a cache.
    pub fn gates(&self) -> Arc<dyn GateStore> {
        Arc::new(SqlGates(self.database()))
    }

    /// Returns the store of claimed passes.
    pub fn passes(&self) -> Arc<dyn PassStore> {
        Arc::new(SqlPasses(self.database()))
    }

    /// Returns the sums of rides.
    pub fn ride_tallies(&self) -> Arc<dyn RideTallies> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// Returns the search of rides.
    pub fn ride_search(&self) -> Arc<dyn RideSearch> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// Returns the installation's secret, created when the folder is first opened; backups include it.
    pub fn secret(&self) -> InstallationSecret {
        self.0.secret.clone()
    }

    /// Returns the id of the accounts in this file, by which links elsewhere can be bound to them. It never changes.
    pub fn accounts_id(&self) -> [u8; 32] {
        self.0.accounts_id
    }

    /// Binds the links in this file to the accounts with this id, for ever.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Conflict`] if they are bound to others, as they are to accounts in this file.
    pub async fn bind_links(&self, accounts: [u8; 32]) -> Result<()> {
        self.0.bind_links(accounts).await
    }

    /// Replaces the installation's secret by a new one, which this value uses once it is opened again.
    pub async fn replace_secret(&self) -> Result<()> {
        self.0.replace_secret().await
    }

    /// Stores the mode in which links are created; it cannot be changed later.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Conflict`] if another mode is stored.
    pub async fn store_mode(&self, mode: Mode) -> Result<()> {
        self.0.store_mode(mode).await
    }

    /// Checks the engine: returns after a reader and the writer have each served a request.
    pub async fn ping(&self) -> Result<()> {
        self.0.ping().await
    }

    /// Writes a verified copy of the database to `to`, which must not exist, without blocking reads or writes; returns
    /// its size in bytes.
    pub async fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        backup::backup(&self.0.file, to).await
    }

    /// Removes a bounded number of rows that are expired at `now`: outcomes, links that ended longer than `reserved`
    /// ago, rolled-up hours and referrers, and rows of accounts. Call it again soon while [`CleanupReport::more`] is true.
    pub async fn remove_expired(
        &self,
        now: Timestamp,
        reserved: SignedDuration,
    ) -> Result<CleanupReport> {
        cleanup::remove_expired(&self.0, now, reserved).await
    }

    /// Answers queued requests, checkpoints the log, ends the threads and unlocks the folder. Later requests get
    /// [`Error::Unavailable`].
    pub async fn close(&self) -> Result<()> {
        let engine = Arc::clone(&self.0);
        match tokio::task::spawn_blocking(move || engine.close()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::unavailable("the database's threads did not end in time")),
            Err(error) => Err(Error::internal(error)),
        }
    }
}
