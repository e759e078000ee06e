//! The change feed, applied to Redis before it reaches this process's memory cache.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    links::{ChangeFeed, Short},
};

use super::shards::Shards;

/// A change feed that drops changed links from Redis before the process's memory cache sees the change,
/// so that the memory cache is not filled from an outdated copy.
pub(super) struct RedisFeed {
    pub(super) feed: Arc<dyn ChangeFeed>,
    pub(super) shards: Arc<Shards>,
}

#[async_trait]
impl ChangeFeed for RedisFeed {
    async fn changed(&self) -> Result<Vec<Short>> {
        let asked = self.shards.begin_feed_read();
        let changed = self.feed.changed().await?;
        self.shards.apply_changes(&asked, &changed).await;
        Ok(changed)
    }

    async fn changed_since(&self, since: Timestamp) -> Result<Vec<Short>> {
        self.feed.changed_since(since).await
    }

    async fn wakeup(&self) {
        tokio::select! {
            () = self.shards.wakeup.notified() => {}
            () = self.feed.wakeup() => {}
        }
    }

    async fn run_background(&self) {
        let shards = self.shards.shards.iter().map(|shard| shard.follow_master(Some(&*self.feed)));
        tokio::join!(self.feed.run_background(), join_all(shards));
    }
}
