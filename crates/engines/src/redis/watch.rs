//! Following the master that the sentinels report.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use jiff::Timestamp;
use lodge_domain::{Error, links::ChangeFeed};
use redis::RedisResult;
use tokio::time::{sleep, timeout};

use super::{
    master::Master,
    node::Node,
    options::Address,
    sentinels::{Located, Sentinels},
    shard::{Servers, Shard},
};

/// How often the sentinels are queried when no event arrives.
const QUERY_PERIOD: Duration = Duration::from_secs(1);

/// Minimum pause between two queries.
const QUERY_PAUSE_MIN: Duration = Duration::from_millis(50);

impl Shard {
    /// Follows the master that the sentinels report, for as long as it is polled.
    /// Changes that the master missed come from `feed`; without one it has no copies of links.
    pub(super) async fn follow_master(&self, feed: Option<&dyn ChangeFeed>) {
        let (options, addresses) = (Arc::clone(&self.options), Arc::clone(&self.sentinels));
        let mut sentinels = Sentinels::new(options, addresses, Arc::clone(&self.server_lost));
        loop {
            match sentinels.locate(&self.name).await {
                Ok(located) => self.connect(located, feed.is_some()).await,
                Err(error) => {
                    tracing::warn!(master = %self.name, %error, "the sentinels report no Redis master");
                }
            }
            if let Some(feed) = feed {
                self.catch_up(feed).await;
            }
            let _ = timeout(QUERY_PERIOD, self.server_lost.notified()).await;
            sleep(QUERY_PAUSE_MIN).await;
        }
    }

    /// Connects to new servers, and disconnects from those that the sentinels no longer report.
    async fn connect(&self, located: Located, subscribes: bool) {
        let is = self.servers.read().clone();
        let kept =
            is.master.filter(|master| master.is_usable() && master.node.address == located.master);
        let master = match kept {
            Some(master) => Some(master),
            None => self.dial_master(located.master, subscribes).await.map(Arc::new),
        };
        let replicas = located.replicas.into_iter().map(|address| {
            let kept = is.replicas.iter().find(|node| node.is_usable() && node.address == address);
            let kept = kept.cloned();
            async move {
                match kept {
                    Some(node) => Some(node),
                    None => self.dial(address).await.map(Arc::new),
                }
            }
        });
        let replicas = join_all(replicas).await.into_iter().flatten().collect();
        *self.servers.write() = Servers { master, replicas };
    }

    async fn dial_master(&self, address: Address, subscribes: bool) -> Option<Master> {
        let node = self.dial(address).await?;
        // A former master may still think that it is one, and the sentinels may lag.
        let ready = async {
            if !node.is_master().await? {
                return Ok(None);
            }
            if subscribes {
                node.subscribe(&self.options.prefix).await?;
            }
            RedisResult::Ok(Some(node.run_id().await?))
        };
        match ready.await {
            Ok(Some(run_id)) => {
                tracing::info!(name = %self.name, server = %node.address, "Redis master found");
                let writers = (0..self.options.writers).map(|_| self.dial(node.address.clone()));
                let writers = join_all(writers).await.into_iter().collect::<Option<_>>()?;
                Some(Master::new(node, run_id, writers))
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(server = %node.address, %error, "the Redis master cannot be used");
                None
            }
        }
    }

    async fn dial(&self, address: Address) -> Option<Node> {
        let (trouble, nudge) = (Arc::clone(&self.server_lost), Arc::clone(&self.wakeup));
        match Node::dial(&self.options, address.clone(), trouble, nudge).await {
            Ok(node) => Some(node),
            Err(error) => {
                tracing::warn!(server = %address, %error, "a Redis server cannot be reached");
                None
            }
        }
    }

    /// Applies to a master that is new here, or missed a change, all changes since the time that its own
    /// data says (`heard`).
    async fn catch_up(&self, feed: &dyn ChangeFeed) {
        let Some(master) = self.servers.read().master.clone() else { return };
        let Some(owed) = master.missing() else { return };
        let caught_up = async {
            let heard = redis::cmd("GET").arg(&self.keys.feed_applied_until).clone();
            let heard: Option<i64> =
                master.node.run_command(&heard).await.map_err(Error::unavailable)?;
            // Without that time no process has cached a copy here.
            let Some(heard) = heard.and_then(|heard| Timestamp::from_millisecond(heard).ok())
            else {
                return Ok(());
            };
            let missed = feed.changed_since(heard).await?;
            self.drop_copies(&master, &missed).await.map_err(Error::unavailable)
        };
        match caught_up.await {
            Ok(()) => {
                // Its replicas may not have these changes yet.
                self.invalidate();
                master.caught_up(owed);
            }
            Err(error) => tracing::debug!(%error, "missed changes could not be applied to Redis"),
        }
    }
}
