//! Links, clicks and keys in Cassandra.
//!
//! Every row has one writer protocol, never two, because a lightweight transaction and a plain write on
//! one row lose updates: links are written by lightweight transactions in claim mode and by plain writes
//! with the minted time in replace mode; attempts, keys and settings by lightweight transactions alone.
//! What is read is read at QUORUM, what is written is written at QUORUM, so that with three copies one
//! node can go without a loss and without a refusal.

mod attempts;
mod breaker;
mod clicks;
mod failure;
mod feed;
mod keys;
mod links;
mod moving;
mod options;
mod prepared;
mod row;
mod schema;
mod session;
mod statements;
mod turns;

use std::sync::Arc;

use lodge_domain::{
    Error, Result,
    keys::KeyStore,
    links::{
        ChangeFeed, ClickStore, LinkStore, Mode,
        moving::{Destination, ReadBack},
    },
    secret::InstallationSecret,
};

pub use options::{Login, Options};

use self::{
    clicks::CassandraClicks, feed::Feed, keys::CassandraKeys, links::CassandraLinks,
    moving::Moving, session::Session,
};

/// An open connection to a cluster.
#[derive(Clone)]
pub struct Cassandra(Arc<Session>);

impl Cassandra {
    /// Connects, and brings the schema up to date.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Unavailable`] when the cluster cannot be used for a minute;
    /// [`lodge_domain::Error::Internal`] when a newer Lodge has made its schema. The cause says why.
    pub async fn connect(options: &Options) -> Result<Self> {
        Ok(Self(Arc::new(Session::connect(options).await?)))
    }

    /// How many nodes the cluster has, as far as one of them knows; nothing is changed.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Unavailable`] when no node can be reached; the cause says why.
    pub async fn probe(options: &Options) -> Result<usize> {
        Box::pin(session::probe(options)).await
    }

    /// Links, and what tells which of them other processes change.
    pub fn links(&self) -> (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>) {
        let feed = Arc::new(Feed::new(Arc::clone(&self.0)));
        (Arc::new(CassandraLinks::new(Arc::clone(&self.0), Arc::clone(&feed))), feed)
    }

    /// Clicks.
    pub fn clicks(&self) -> Arc<dyn ClickStore> {
        Arc::new(CassandraClicks::new(Arc::clone(&self.0)))
    }

    /// API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(CassandraKeys(Arc::clone(&self.0)))
    }

    /// The destination of a move into a deployment of this `mode`, and the way to read it back.
    pub fn moving(&self, mode: Mode) -> (Arc<dyn Destination>, Arc<dyn ReadBack>) {
        let feed = Arc::new(Feed::new(Arc::clone(&self.0)));
        let links = CassandraLinks::new(Arc::clone(&self.0), feed);
        let moving = Arc::new(Moving::new(Arc::clone(&self.0), links, mode));
        (Arc::clone(&moving) as Arc<dyn Destination>, moving)
    }

    /// Keeps the mode in which links are made here, once and for all.
    ///
    /// # Errors
    ///
    /// [`lodge_domain::Error::Conflict`] if another one is kept; others when none can be.
    pub async fn keep_mode(&self, mode: Mode) -> Result<()> {
        let kept = self.0.keep_first(session::MODE, mode.name().as_bytes()).await?;
        Mode::check_kept(mode, &kept)
    }

    /// Keeps which store the accounts are in that own links here, once and for all: another store gives the
    /// same numbers to other accounts.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another one is kept.
    pub async fn keep_accounts(&self, store: [u8; 32]) -> Result<()> {
        if self.0.keep_first(session::ACCOUNTS, &store).await? == store {
            return Ok(());
        }
        Err(Error::conflict(
            "the links here belong to accounts in another data folder, which have the same numbers; \
             name the process that keeps those in accounts.servers, or give these links a keyspace of their own",
        ))
    }

    /// The installation's secret: `fresh`, or the one that was kept first.
    ///
    /// # Errors
    ///
    /// When it can be neither kept nor read.
    pub async fn secret(&self, fresh: [u8; 32]) -> Result<InstallationSecret> {
        self.0.secret(fresh).await.map(InstallationSecret::new)
    }
}
