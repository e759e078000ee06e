//! Links, clicks and keys in Cassandra.
//!
//! Each row is written by one protocol only, because lightweight transactions and plain writes mixed on
//! one row lose updates: links by lightweight transactions in claim mode and by plain writes with the
//! minted timestamp in replace mode; idempotency keys, API keys and settings by lightweight transactions;
//! sessions of API keys by plain writes.
//! Reads and writes are at QUORUM, so that with three replicas the loss of one node loses no data and
//! refuses no request.

mod breaker;
mod clicks;
mod failure;
mod feed;
mod idempotency;
mod key_sessions;
mod keyed_mutex;
mod keys;
mod links;
mod moving;
mod options;
mod prepared;
mod row;
mod schema;
mod session;
mod statements;

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use lodge_domain::{
    Error, Result,
    key_sessions::KeySessionStore,
    keys::KeyStore,
    links::{
        ChangeFeed, ClickStore, LinkStore, Mode,
        moving::{Destination, ReadBack},
    },
    secret::InstallationSecret,
};

pub use options::{Login, Options};

use self::{
    clicks::CassandraClicks, feed::Feed, key_sessions::CassandraKeySessions, keys::CassandraKeys,
    links::CassandraLinks, moving::Moving, session::Session,
};

/// An open connection to a cluster.
#[derive(Clone)]
pub struct Cassandra(Arc<Session>);

impl Cassandra {
    /// Connects, and migrates the schema.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Unavailable`] when the cluster stays unusable for more than a minute;
    /// [`lodge_domain::Error::Internal`] when its schema is of a newer Lodge. The cause says why.
    pub fn connect(options: &Options) -> BoxFuture<'_, Result<Self>> {
        async move { Ok(Self(Arc::new(Session::connect(options).await?))) }.boxed()
    }

    /// Returns the number of nodes that one node of the cluster reports. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Unavailable`] when no node can be reached; the cause says why.
    pub fn probe(options: &Options) -> BoxFuture<'_, Result<usize>> {
        session::probe(options).boxed()
    }

    /// The store of links, and the change feed of all processes.
    pub fn links(&self) -> (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>) {
        let feed = Arc::new(Feed::new(Arc::clone(&self.0)));
        (Arc::new(CassandraLinks::new(Arc::clone(&self.0), Arc::clone(&feed))), feed)
    }

    /// The store of clicks.
    pub fn clicks(&self) -> Arc<dyn ClickStore> {
        Arc::new(CassandraClicks::new(Arc::clone(&self.0)))
    }

    /// The store of API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(CassandraKeys(Arc::clone(&self.0)))
    }

    /// The store of the page sessions of API keys.
    pub fn key_sessions(&self) -> Arc<dyn KeySessionStore> {
        Arc::new(CassandraKeySessions(Arc::clone(&self.0)))
    }

    /// The destination of a move into a deployment of this `mode`, and the reader that verifies it.
    pub fn moving(&self, mode: Mode) -> (Arc<dyn Destination>, Arc<dyn ReadBack>) {
        let feed = Arc::new(Feed::new(Arc::clone(&self.0)));
        let links = CassandraLinks::new(Arc::clone(&self.0), feed);
        let moving = Arc::new(Moving::new(Arc::clone(&self.0), links, mode));
        (Arc::clone(&moving) as Arc<dyn Destination>, moving)
    }

    /// Stores the mode of the deployment's links, which never changes.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Conflict`] if another mode is stored; others when none can be stored.
    pub fn store_mode(&self, mode: Mode) -> BoxFuture<'_, Result<()>> {
        let store = async move {
            let kept = self.0.set_if_absent(session::MODE, mode.name().as_bytes()).await?;
            Mode::check_kept(mode, &kept)
        };
        store.boxed()
    }

    /// Stores which store has the accounts that own links here, which never changes: another store gives
    /// the same ids to other accounts.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another store is recorded.
    pub fn store_accounts_id(&self, id: [u8; 32]) -> BoxFuture<'_, Result<()>> {
        let store = async move {
            if self.0.set_if_absent(session::ACCOUNTS, &id).await? == id {
                return Ok(());
            }
            Err(Error::conflict(
                "the links in this keyspace belong to accounts in another store, which have the same ids; \
                 use those accounts (accounts.store, accounts.servers), or another keyspace",
            ))
        };
        store.boxed()
    }

    /// Returns the installation's secret: `fresh` if none was stored before.
    ///
    /// # Errors
    ///
    /// When it can be neither stored nor read.
    pub fn secret(&self, fresh: [u8; 32]) -> BoxFuture<'_, Result<InstallationSecret>> {
        async move { self.0.secret(fresh).await.map(InstallationSecret::new) }.boxed()
    }

    /// Replaces the installation's secret by `fresh`, which each process uses once it connects again.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another process replaced it at the same time; others when it cannot be stored.
    pub fn replace_secret(&self, fresh: [u8; 32]) -> BoxFuture<'_, Result<()>> {
        self.0.replace_secret(fresh).boxed()
    }
}
