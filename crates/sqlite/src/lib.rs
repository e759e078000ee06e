//! The embedded engine: every port on one `SQLite` file.
//!
//! One thread writes, in groups that share an fsync; a few read; one carries the write-ahead log into
//! the file. An async caller waits for an answer, never for a disk.

mod backup;
mod checkpoints;
mod clicks;
mod connection;
mod database;
mod engine;
mod failure;
mod folder;
mod inspect;
mod job;
mod links;
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
mod tidy;
mod turns;
mod tx;
mod words;
mod writer;

use std::{path::Path, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, Result,
    accounts::{AccountStore, IdentityStore, SessionStore},
    board::{BoardLog, BoardPeople, Channels, HookStore, MessagePictures, ReadPositions, Reports},
    keys::KeyStore,
    links::{ClickStore, LinkStore, Mode},
    rides::{GateStore, PassStore, RideLog, RideSearch, RideTallies},
    secret::InstallationSecret,
};
use lodge_sql::{
    KeyTable, SqlAccounts, SqlBoard, SqlGates, SqlIdentities, SqlKeys, SqlPasses, SqlReads,
    SqlSessions,
};

pub use crate::{
    backup::{BackupError, restore},
    folder::{Folder, OpenError},
    inspect::{Inspected, inspect},
    moving::MovingFolder,
    options::Options,
    tidy::Tidied,
};
use crate::{
    clicks::SqliteClicks, engine::Engine, links::SqliteLinks, rides::SqliteRides, words::Fts5,
};

/// An open data folder. Clones share it.
#[derive(Clone)]
pub struct Sqlite(Arc<Engine>);

impl Sqlite {
    /// Opens `folder`, and makes it if there is none. Blocks for as long as the disk takes.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        Engine::open(folder, options).map(|engine| Self(Arc::new(engine)))
    }

    /// The links, without a cache.
    pub fn links(&self) -> Arc<dyn LinkStore> {
        Arc::new(SqliteLinks(Arc::clone(&self.0)))
    }

    /// The clicks.
    pub fn clicks(&self) -> Arc<dyn ClickStore> {
        Arc::new(SqliteClicks(Arc::clone(&self.0)))
    }

    /// The API keys, without a cache.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(Arc::clone(&self.0), KeyTable::ApiKeys))
    }

    /// The keys of programs that write on the board, without a cache.
    pub fn bots(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(Arc::clone(&self.0), KeyTable::Bots))
    }

    /// What happens on the board.
    pub fn board_log(&self) -> Arc<dyn BoardLog> {
        Arc::new(self.board())
    }

    /// Its channels.
    pub fn board_channels(&self) -> Arc<dyn Channels> {
        Arc::new(self.board())
    }

    /// Who was there.
    pub fn board_people(&self) -> Arc<dyn BoardPeople> {
        Arc::new(self.board())
    }

    /// How far they have read. Notes that wait to be stored count in this store alone.
    pub fn board_positions(&self) -> Arc<dyn ReadPositions> {
        Arc::new(SqlReads::new(Arc::clone(&self.0)))
    }

    /// What people want looked at.
    pub fn board_reports(&self) -> Arc<dyn Reports> {
        Arc::new(self.board())
    }

    /// The pictures of its messages.
    pub fn board_pictures(&self) -> Arc<dyn MessagePictures> {
        Arc::new(self.board())
    }

    /// Who is told what happens there.
    pub fn board_hooks(&self) -> Arc<dyn HookStore> {
        Arc::new(self.board())
    }

    fn board(&self) -> SqlBoard<Engine> {
        SqlBoard::new(Arc::clone(&self.0), self.0.origin, &Fts5)
    }

    /// The accounts.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::new(SqlAccounts(Arc::clone(&self.0)))
    }

    /// The accounts' sessions.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SqlSessions::new(Arc::clone(&self.0), self.0.feed))
    }

    /// Which identities open which accounts.
    pub fn identities(&self) -> Arc<dyn IdentityStore> {
        Arc::new(SqlIdentities(Arc::clone(&self.0)))
    }

    /// What gates told of rides.
    pub fn ride_log(&self) -> Arc<dyn RideLog> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// Who sends rides, without a cache.
    pub fn gates(&self) -> Arc<dyn GateStore> {
        Arc::new(SqlGates(Arc::clone(&self.0)))
    }

    /// Whose skiers' numbers are.
    pub fn passes(&self) -> Arc<dyn PassStore> {
        Arc::new(SqlPasses(Arc::clone(&self.0)))
    }

    /// The sums of rides.
    pub fn ride_tallies(&self) -> Arc<dyn RideTallies> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// Searches rides.
    pub fn ride_search(&self) -> Arc<dyn RideSearch> {
        Arc::new(SqliteRides(Arc::clone(&self.0)))
    }

    /// The installation's secret, made at the first opening; a backup carries it.
    pub fn secret(&self) -> InstallationSecret {
        self.0.secret.clone()
    }

    /// Keeps the mode in which links are made here, once and for all.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Conflict`] if another one is kept.
    pub async fn keep_mode(&self, mode: Mode) -> Result<()> {
        self.0.keep_mode(mode).await
    }

    /// Replies when a reader and the writer have had their turn: the engine works.
    pub async fn ping(&self) -> Result<()> {
        self.0.ping().await
    }

    /// Writes a checked copy of the database to `to`, which must not exist, while everything goes on;
    /// its size in bytes.
    pub async fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        backup::backup(&self.0.file, to).await
    }

    /// Removes some of what nobody needs any more at `now`: outcomes past their time, links that have
    /// been over for longer than `reserved`, hours and referrers that are rolled up. A bounded piece of
    /// work; call it again soon while [`Tidied::more`] says so.
    pub async fn tidy(&self, now: Timestamp, reserved: SignedDuration) -> Result<Tidied> {
        tidy::tidy(&self.0, now, reserved).await
    }

    /// Replies what waits, carries the log into the file, ends the threads and lets the folder go.
    /// From then on every request is [`Error::Unavailable`].
    pub async fn close(&self) -> Result<()> {
        let engine = Arc::clone(&self.0);
        match tokio::task::spawn_blocking(move || engine.close()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::unavailable("the database's threads did not end in time")),
            Err(error) => Err(Error::internal(error)),
        }
    }
}
