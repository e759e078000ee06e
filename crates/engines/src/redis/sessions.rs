//! Copies of sessions in Redis.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use lodge_domain::accounts::{SessionCopies, SessionDigest};
use redis::RedisResult;

use super::{node::Node, shard::Shard, shards::Shards};

/// Copies at the key `session:DIGEST` of the master that the digest hashes to, read from its replicas in turn. A
/// replica that lags has an older copy or none, and a failover may bring an older one back: the reader of a copy checks
/// it.
pub(super) struct RedisSessions {
    pub(super) shards: Arc<Shards>,
    pub(super) kept: Duration,
    pub(super) turn: AtomicUsize,
}

impl RedisSessions {
    fn key(&self, digest: SessionDigest) -> (&Shard, String) {
        let name = URL_SAFE_NO_PAD.encode(digest.0);
        let shard = self.shards.of(&name);
        (shard, shard.keys.session(&name))
    }

    /// Reads from one replica, or from the master if none is usable.
    async fn read(&self, shard: &Shard, key: &str) -> RedisResult<Option<Vec<u8>>> {
        let servers = shard.servers.read().clone();
        let usable: Vec<&Arc<Node>> =
            servers.replicas.iter().filter(|replica| replica.is_usable()).collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let master = servers.master.as_ref().map(|master| &master.node);
        let master = master.filter(|node| node.is_usable());
        let replica = usable.get(turn % usable.len().max(1)).map(|replica| &***replica);
        match replica.or(master) {
            Some(node) => node.run_command(redis::cmd("GET").arg(key)).await,
            None => Ok(None),
        }
    }
}

#[async_trait]
impl SessionCopies for RedisSessions {
    async fn find(&self, digest: SessionDigest) -> Option<Vec<u8>> {
        let (began, (shard, key)) = (Instant::now(), self.key(digest));
        let found = self.read(shard, &key).await;
        metrics::histogram!("lodge_accounts_redis_get_seconds").record(began.elapsed());
        found.unwrap_or_else(|error| {
            tracing::debug!(%error, "a copy of a session could not be read from Redis");
            None
        })
    }

    async fn keep(&self, digest: SessionDigest, copy: Vec<u8>) {
        let (began, (shard, key)) = (Instant::now(), self.key(digest));
        let master = shard.servers.read().master.clone();
        let Some(master) = master.filter(|master| master.node.is_usable()) else { return };
        let kept_ms = u64::try_from(self.kept.as_millis()).unwrap_or(u64::MAX);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(copy).arg("PX").arg(kept_ms);
        let kept: RedisResult<()> = master.node.run_command(&set).await;
        metrics::histogram!("lodge_accounts_redis_set_seconds").record(began.elapsed());
        if let Err(error) = kept {
            tracing::debug!(%error, "a session could not be copied to Redis");
        }
    }
}
