//! A cache by token, for at most one second; a revocation in this process takes effect at once.

use std::{
    hash::Hash,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lodge_domain::Result;
use moka::{ops::compute::Op, sync::Cache};

/// TTL of an entry: the longest time until a revocation by another process takes effect.
const KEPT: Duration = Duration::from_secs(1);

/// The most cached tokens.
const TOKENS_MAX: u64 = 10_000;

/// Recently found values by the digest of their token and by their id. Unknown tokens are not cached.
pub(super) struct TokenCache<I, T> {
    /// The id of a digest, which never changes.
    ids: Cache<[u8; 32], I>,
    kept: Cache<I, T>,
    /// Completed revocations; a value that was read before one is not cached after it.
    revocations: AtomicU64,
}

/// The count of completed revocations at the start of a lookup.
#[derive(Clone, Copy)]
pub(super) struct Began(u64);

impl<I, T> TokenCache<I, T>
where
    I: Copy + Eq + Hash + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        let ids = Cache::builder().max_capacity(TOKENS_MAX).build();
        let kept = Cache::builder().max_capacity(TOKENS_MAX).time_to_live(KEPT).build();
        Self { ids, kept, revocations: AtomicU64::new(0) }
    }

    pub(super) fn by_digest(&self, digest: [u8; 32]) -> Option<T> {
        self.ids.get(&digest).and_then(|id| self.kept.get(&id))
    }

    pub(super) fn by_id(&self, id: I) -> Option<T> {
        self.kept.get(&id)
    }

    /// Begins a lookup; to be called before the store is read.
    pub(super) fn begin(&self) -> Began {
        Began(self.revocations.load(Ordering::SeqCst))
    }

    /// Caches the result of a lookup by digest.
    pub(super) fn insert_by_digest(&self, digest: [u8; 32], id: I, found: &T, began: Began) {
        self.ids.insert(digest, id);
        self.keep(id, found, began);
    }

    /// Caches the result of a lookup, unless a revocation has completed since its start.
    pub(super) fn keep(&self, id: I, found: &T, Began(revocations): Began) {
        self.kept.entry(id).and_compute_with(|_| {
            let current = self.revocations.load(Ordering::SeqCst) == revocations;
            if current { Op::Put(found.clone()) } else { Op::Nop }
        });
    }

    /// Invalidates the entry that the store has revoked.
    pub(super) fn revoked<R>(&self, revoked: &Result<Option<R>>, id: impl Fn(&R) -> I) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        match revoked {
            Ok(Some(is)) => drop(self.kept.entry(id(is)).and_compute_with(|_| Op::Remove)),
            Ok(None) => {}
            // The revocation may have been committed.
            Err(_) => self.kept.invalidate_all(),
        }
    }
}
