//! Links cached in Redis, in front of the store.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    IdempotencyKey, Idempotent, Result,
    links::{
        Candidate, Claim, Link, LinkCopies, LinkId, LinkQuery, LinkStore, Refusal, Replaced, Short,
        StoredLinkOutcome, TakenClick,
    },
};

use super::{shard::Lookup, shards::Shards};

/// A store with copies of its links in Redis. A write drops the copy; the next read fills it again.
pub(super) struct RedisLinks {
    store: Arc<dyn LinkStore>,
    shards: Arc<Shards>,
}

impl RedisLinks {
    pub(super) fn new(store: Arc<dyn LinkStore>, shards: Arc<Shards>) -> Self {
        Self { store, shards }
    }
}

#[async_trait]
impl LinkStore for RedisLinks {
    async fn stored_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        self.store.stored_outcome(idempotency).await
    }

    async fn claim(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Claim>>> {
        let shorts = candidates.iter().flatten().flat_map(Candidate::shorts).cloned().collect();
        let claimed = self.store.claim(candidates, reserved, idempotency).await;
        self.shards.forget(shorts, false).await;
        claimed
    }

    async fn replace(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Replaced>> {
        let short = link.short.clone();
        let replaced = self.store.replace(link, idempotency).await;
        self.shards.forget(vec![short], false).await;
        replaced
    }

    async fn find(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let shard = self.shards.of(short.as_str());
        let lease = match shard.find(short).await {
            Lookup::Copy(copy) => match decoded(&copy, short) {
                Some(link) => {
                    metrics::counter!("lodge_redis_hits_total").increment(1);
                    return Ok(Some(link));
                }
                None => None,
            },
            Lookup::Miss(lease) => lease,
        };
        metrics::counter!("lodge_redis_misses_total").increment(1);
        let found = self.store.find(short).await?;
        if let (Some(lease), Some(link)) = (lease, &found)
            && let Some(copy) = encoded(link)
        {
            shard.fill(short, lease, &copy).await;
        }
        Ok(found)
    }

    fn copies(&self) -> Option<&dyn LinkCopies> {
        Some(self)
    }

    async fn change(
        &self,
        link: Link,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Option<Idempotent<Link>>> {
        let short = link.short.clone();
        let changed = self.store.change(link, idempotency).await;
        self.shards.forget(vec![short], true).await;
        changed
    }

    async fn take_click(&self, short: &Short, id: LinkId, at: Timestamp) -> Result<TakenClick> {
        self.store.take_click(short, id, at).await
    }

    async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.store.list(query).await
    }

    async fn page(&self, after: Option<Short>, limit: usize) -> Result<Vec<Arc<Link>>> {
        self.store.page(after, limit).await
    }
}

#[async_trait]
impl LinkCopies for RedisLinks {
    async fn find_copy(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        match self.shards.of(short.as_str()).find(short).await {
            Lookup::Copy(copy) => Ok(decoded(&copy, short)),
            Lookup::Miss(_) => Ok(None),
        }
    }

    async fn find_stale(&self, short: &Short) -> Result<Option<Arc<Link>>> {
        let remembered = self.shards.of(short.as_str()).find_stale(short).await;
        match remembered.and_then(|copy| decoded(&copy, short)) {
            Some(link) => Ok(Some(link)),
            None => self.store.find_stale(short).await,
        }
    }
}

/// The copy of a link. Links with a password or a click limit are not cached: the hash never leaves the
/// store, and limited clicks are counted there.
fn encoded(link: &Link) -> Option<Vec<u8>> {
    let is_kept = link.password.is_none() && link.click_limit.is_none();
    is_kept.then(|| serde_json::to_vec(link).ok()).flatten()
}

/// Reads a copy; `None` if another version of Lodge wrote it in a form that this one cannot read.
fn decoded(copy: &[u8], short: &Short) -> Option<Arc<Link>> {
    let link: Link = serde_json::from_slice(copy).ok()?;
    (link.short == *short).then(|| Arc::new(link))
}
