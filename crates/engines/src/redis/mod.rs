//! Copies of links in Redis, under Sentinel.
//!
//! Redis is never asked what is true, only what was read lately, and it may be slow, empty, replaced by
//! a replica that has lost the last writes, or cut off from some processes and not from others. So each
//! process keeps its own account of whether it can be believed:
//!
//! - It reads the store's change feed several times a second, drops from the master the copies of what
//!   has changed, and then writes a *pulse* there: a number of its own that rises. A server is believed
//!   only if the answer comes with this process's newest pulse, and while that is fresh. So whatever
//!   this process has heard of is gone from what it reads, on a replica that lags, too. Of what it has
//!   written itself since the newest pulse, no replica is asked while the store answers.
//! - A copy is brought by whoever holds the *lease* on it, which is taken before the store is read and
//!   goes with the copy when the copy is dropped: what was read before a change is not kept after it.
//! - The time of the feed up to which all has been told stands beside the data (`heard`). A master that
//!   is new to a process, or may have missed something, is told again what has changed since that time
//!   before it is believed.
//!
//! Keys: `link:SHORT` (a copy), `lease:SHORT`, `pulse:PROCESS`, `heard`, each after the prefix.

mod feed;
mod held;
mod keys;
mod links;
mod master;
mod node;
mod options;
mod scripts;
mod sentinels;
mod shard;
mod shards;
mod watch;
mod written;

use std::sync::Arc;

use lodge_domain::{
    Error, Result,
    links::{ChangeFeed, LinkStore},
};
use tokio::sync::Notify;

pub use options::{Login, Options};

use crate::behind::HeldLinks;

use self::{
    feed::RedisFeed, held::RedisHeld, links::RedisLinks, sentinels::Sentinels, shard::Shard,
    shards::Shards,
};

/// Redis, as far as the sentinels know it.
pub struct Redis(Arc<Shards>);

impl Redis {
    /// Takes the options; nothing is connected before the feed is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when they name no master, or a sentinel that cannot be one.
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
        Ok(Self(Arc::new(Shards { shards, nudge })))
    }

    /// Copies before a store, and its feed by way of them.
    pub fn before(
        &self,
        (store, feed): (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>),
    ) -> (Arc<dyn LinkStore>, Arc<dyn ChangeFeed>) {
        let shards = Arc::clone(&self.0);
        let links = RedisLinks::new(store, Arc::clone(&shards));
        (Arc::new(links), Arc::new(RedisFeed { feed, shards }))
    }

    /// Where links are held that are stored later.
    pub fn held(&self) -> Arc<dyn HeldLinks> {
        Arc::new(RedisHeld(Arc::clone(&self.0)))
    }

    /// The master of each name, as the sentinels say, and how many replicas can be asked; nothing is
    /// changed.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no sentinel answers or a master does not; the cause says why.
    pub async fn probe(options: Options) -> Result<Vec<String>> {
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
                return Err(Error::unavailable(format!("{} is no master", located.master)));
            }
            found.push(format!(
                "{name} at {}, {} replicas",
                located.master,
                located.replicas.len()
            ));
        }
        Ok(found)
    }
}
