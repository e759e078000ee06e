//! A cache by token, for at most one second; a revocation in this process takes effect at once.

use std::{
    hash::Hash,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use quick_cache::sync::Cache;
use tokio::time::Instant;

/// TTL of an entry: the longest time until a revocation by another process takes effect.
const KEPT: Duration = Duration::from_secs(1);

/// The most cached tokens.
const TOKENS_MAX: usize = 10_000;

/// Recently found values by the digest of their token and by their id. Unknown tokens are not cached.
pub(super) struct TokenCache<I, T> {
    /// The id of a digest, which never changes.
    ids: Cache<[u8; 32], I>,
    found: Cache<I, (T, Began)>,
    /// Ended revocations. One invalidates all entries: it is rare, and a lookup under way may be of the revoked token.
    revocations: AtomicU64,
}

/// The start of a lookup.
#[derive(Clone, Copy)]
pub(super) struct Began {
    revocations: u64,
    at: Instant,
}

/// A revocation under way, which ends when this is dropped.
pub(super) struct Revocation<'a>(&'a AtomicU64);

impl Drop for Revocation<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<I, T> TokenCache<I, T>
where
    I: Copy + Eq + Hash,
    T: Clone,
{
    pub(super) fn new() -> Self {
        let (ids, found) = (Cache::new(TOKENS_MAX), Cache::new(TOKENS_MAX));
        Self { ids, found, revocations: AtomicU64::new(0) }
    }

    pub(super) fn by_digest(&self, digest: [u8; 32]) -> Option<T> {
        self.ids.get(&digest).and_then(|id| self.by_id(id))
    }

    pub(super) fn by_id(&self, id: I) -> Option<T> {
        let (value, began) = self.found.get(&id)?;
        let is_current = began.revocations == self.revocations.load(Ordering::SeqCst);
        (is_current && began.at.elapsed() < KEPT).then_some(value)
    }

    /// Begins a lookup; to be called before the store is read.
    pub(super) fn begin(&self) -> Began {
        Began { revocations: self.revocations.load(Ordering::SeqCst), at: Instant::now() }
    }

    /// Caches the result of a lookup by digest.
    pub(super) fn insert_by_digest(&self, digest: [u8; 32], id: I, found: &T, began: Began) {
        self.ids.insert(digest, id);
        self.insert(id, found, began);
    }

    /// Caches the result of a lookup.
    pub(super) fn insert(&self, id: I, found: &T, began: Began) {
        self.found.insert(id, (found.clone(), began));
    }

    /// Begins a revocation, to be dropped when the store has answered: also if the caller leaves before it does.
    pub(super) fn revoking(&self) -> Revocation<'_> {
        Revocation(&self.revocations)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_entry_ends_a_second_after_the_start_of_its_lookup() {
        let cache = TokenCache::new();
        let began = cache.begin();
        advance(KEPT / 2).await;
        cache.insert_by_digest([1; 32], 1, &"found", began);
        assert_eq!(cache.by_digest([1; 32]), Some("found"));
        advance(KEPT / 2).await;
        assert_eq!(cache.by_digest([1; 32]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_looked_up_before_the_end_of_a_revocation_is_not_used_after_it() {
        let cache = TokenCache::new();
        let before = cache.begin();
        let revoking = cache.revoking();
        let during = cache.begin();
        cache.insert(1, &"before", before);
        cache.insert(2, &"during", during);
        assert_eq!((cache.by_id(1), cache.by_id(2)), (Some("before"), Some("during")));
        drop(revoking);
        assert_eq!((cache.by_id(1), cache.by_id(2)), (None, None));
        cache.insert(1, &"before", before);
        assert_eq!(cache.by_id(1), None);
        cache.insert(1, &"after", cache.begin());
        assert_eq!(cache.by_id(1), Some("after"));
    }
}
