//! A cache by token, for at most one second; a revocation in this process takes effect at once.

use std::{
    hash::Hash,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lodge_domain::Result;
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
    found: Cache<I, Found<T>>,
    /// Completed revocations. A value whose lookup began before one is not used after it.
    revocations: AtomicU64,
}

#[derive(Clone)]
struct Found<T> {
    value: T,
    began: Began,
    cached_at: Instant,
}

/// The count of completed revocations at the start of a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Began(u64);

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
        let found = self.found.get(&id)?;
        let is_current = found.began == self.begin() && found.cached_at.elapsed() < KEPT;
        is_current.then_some(found.value)
    }

    /// Begins a lookup; to be called before the store is read.
    pub(super) fn begin(&self) -> Began {
        Began(self.revocations.load(Ordering::SeqCst))
    }

    /// Caches the result of a lookup by digest.
    pub(super) fn insert_by_digest(&self, digest: [u8; 32], id: I, found: &T, began: Began) {
        self.ids.insert(digest, id);
        self.insert(id, found, began);
    }

    /// Caches the result of a lookup.
    pub(super) fn insert(&self, id: I, found: &T, began: Began) {
        let cached_at = Instant::now();
        self.found.insert(id, Found { value: found.clone(), began, cached_at });
    }

    /// Invalidates all entries if the store has revoked a token, or may have.
    pub(super) fn revoked<R>(&self, revoked: &Result<Option<R>>) {
        if !matches!(revoked, Ok(None)) {
            self.revocations.fetch_add(1, Ordering::SeqCst);
        }
    }
}
