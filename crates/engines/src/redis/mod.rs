//! Copies of links and sessions in Redis, under Sentinel.
//!
//! Redis is a cache: it may be slow, empty, replaced by a replica that lost the last writes, or
//! partitioned from some processes only. So each process checks by itself whether an answer is valid:
//!
//! - It reads the store's change feed several times a second, drops the copies of changed links from the
//!   master, and then writes a *heartbeat* there: a rising number of its own. A Redis read is valid only
//!   if it carries this process's latest heartbeat, and while that is fresh. So no change that this
//!   process has read from the feed is missing from a valid answer, even on a lagging replica. Links that
//!   this process wrote since its latest heartbeat are read from no replica while the store answers.
//! - The holder of the *lease* on a copy fills it. The lease is taken before the store is read and is
//!   dropped together with the copy: a value read before a change is not cached after it.
//! - The time up to which the feed has been applied is stored beside the data (`heard`). A master that is
//!   new to a process, or may have missed a change, first gets all changes since that time; its answers
//!   are invalid until then.
//!
//! A copy of a session carries what its reader needs to check it by the accounts' change feed, so it has neither
//! heartbeat nor lease (`sessions.rs`).
//!
//! Keys, each after the prefix: `link:SHORT` (a copy), `lease:SHORT`, `heartbeat:PROCESS` (the heartbeat),
//! `heard`, `session:DIGEST`.

mod feed;
mod keys;
mod links;
mod master;
mod node;
mod options;
mod own_writes;
mod pending;
mod scripts;
mod sentinels;
mod sessions;
mod shard;
mod shards;
mod watch;

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use lodge_domain::{
    Error, Result,
    accounts::SessionCopies,
    links::{ChangeFeed, LinkStore},
};
use tokio::sync::Notify;

pub use options::{Login, Options};

use crate::write_behind::PendingWrites;

use self::{
    feed::RedisFeed, links::RedisLinks, pending::RedisPendingWrites, sentinels::Sentinels,
    sessions::RedisSessions, shard::Shard, shards::Shards,
};

/// The Redis masters and replicas that the sentinels report.
pub struct Redis(Arc<Shards>);

impl Redis {
    /// Checks the options; the first connection is made by the feed's background task.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when they name no master, or the address of a sentinel is not `host:port`.
    pub fn new(options: Options) -> Result<Self> {
        if options.masters.is_empty() {
            return Err(Error::invalid("redis.masters", "must name at least one master"));
        }
        let sentinels = options.sentinel_addresses()?;
        let (options, nudge) = (Arc::new(options), Arc::<Notify>::default());
        let shard = |name: &String| {
            let (options, sentinels) = (Arc::clone(&options), Arc::clone(&sentinels));
            Shard::new(name.clone(), options, sentinels, Arc::clone(&nudge))
        };
        let shards = options.masters.iter().map(shard).collect();
        Ok(Self(Arc::new(Shards { shards, wakeup: nudge })))
    }

    /// Puts the cache in front of a store and its change feed.
    pub fn in_front_of(
        &self,
        (store, feed): (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>),
    ) -> (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>) {
        let shards = Arc::clone(&self.0);
        let links = RedisLinks::new(store, Arc::clone(&shards));
        (Arc::new(links), Arc::new(RedisFeed { feed, shards }))
    }

    /// Copies of sessions, which last for `kept`. [`Self::follow`] must run.
    pub fn session_copies(&self, kept: Duration) -> Arc<dyn SessionCopies> {
        Arc::new(RedisSessions { shards: Arc::clone(&self.0), kept, turn: AtomicUsize::new(0) })
    }

    /// Follows the masters that the sentinels report, for copies of sessions; never returns. The change feed of
    /// [`Self::in_front_of`] does the same for copies of links.
    pub fn follow(&self) -> BoxFuture<'_, ()> {
        join_all(self.0.shards.iter().map(|shard| shard.follow_master(None))).map(drop).boxed()
    }

    /// The links that are acknowledged and stored later.
    pub fn pending_writes(&self) -> Arc<dyn PendingWrites> {
        Arc::new(RedisPendingWrites(Arc::clone(&self.0)))
    }

    /// Returns a line for each master name: its address and the number of usable replicas, as the
    /// sentinels report them. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no sentinel answers or a master does not; the cause says why.
    pub fn probe(options: Options) -> BoxFuture<'static, Result<Vec<String>>> {
        probe(options).boxed()
    }
}

async fn probe(options: Options) -> Result<Vec<String>> {
    let (addresses, options) = (options.sentinel_addresses()?, Arc::new(options));
    let mut sentinels = Sentinels::new(Arc::clone(&options), addresses, Arc::default());
    let mut found = Vec::new();
    for name in &options.masters {
        let located = sentinels.locate(name).await.map_err(Error::unavailable)?;
        let master = located.master.clone();
        let dialled = node::Node::dial(&options, master, Arc::default(), Arc::default()).await;
        let is_master = match dialled {
            Ok(node) => node.is_master().await,
            Err(error) => Err(error),
        };
        if !is_master.map_err(Error::unavailable)? {
            return Err(Error::unavailable(format!("{} is not a master", located.master)));
        }
        found.push(format!("{name} at {}, {} replicas", located.master, located.replicas.len()));
    }
    Ok(found)
}
