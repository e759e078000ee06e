//! The masters that copies are distributed over.

use std::sync::Arc;

use futures_util::future::join_all;
use lodge_domain::links::Short;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use super::shard::{FeedRead, Shard};

/// Every master with its replicas.
pub(super) struct Shards {
    pub(super) shards: Vec<Shard>,
    pub(super) wakeup: Arc<Notify>,
}

impl Shards {
    /// The shard of a short or another name, by rendezvous hashing: each pair of a master and a name has a hash, and
    /// the highest wins, so that an added master takes only its own share.
    pub(super) fn of(&self, name: &str) -> &Shard {
        &self.shards[self.index_of(name)]
    }

    pub(super) fn index_of(&self, name: &str) -> usize {
        if self.shards.len() == 1 {
            return 0;
        }
        let drawn = |shard: &Shard| -> [u8; 32] {
            Sha256::new()
                .chain_update(&shard.name)
                .chain_update([0])
                .chain_update(name)
                .finalize()
                .into()
        };
        let highest = self.shards.iter().enumerate().max_by_key(|(_, shard)| drawn(shard));
        highest.map_or(0, |(index, _)| index)
    }

    /// Splits shorts by shard, in the order of the shards.
    pub(super) fn split(&self, shorts: impl IntoIterator<Item = Short>) -> Vec<Vec<Short>> {
        let mut shares = vec![Vec::new(); self.shards.len()];
        for short in shorts {
            shares[self.index_of(short.as_str())].push(short);
        }
        shares
    }

    pub(super) async fn forget(&self, shorts: Vec<Short>, tell: bool) {
        let shares =
            self.shards.iter().zip(self.split(shorts)).filter(|(_, share)| !share.is_empty());
        join_all(shares.map(async |(shard, share)| shard.forget(&share, tell).await)).await;
    }

    pub(super) fn begin_feed_read(&self) -> Vec<FeedRead> {
        self.shards.iter().map(Shard::begin_feed_read).collect()
    }

    pub(super) async fn apply_changes(&self, asked: &[FeedRead], changed: &[Short]) {
        let shares = self.shards.iter().zip(asked).zip(self.split(changed.iter().cloned()));
        join_all(
            shares.map(async |((shard, asked), share)| shard.apply_changes(*asked, &share).await),
        )
        .await;
    }
}
