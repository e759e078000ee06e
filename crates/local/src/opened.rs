//! What tokens open, in memory for a second at most, and not at all once it is revoked.

use std::{
    hash::Hash,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lodge_domain::Result;
use moka::{ops::compute::Op, sync::Cache};

/// How long a revocation by another process may go unnoticed.
const KEPT: Duration = Duration::from_secs(1);

/// Tokens in memory.
const TOKENS_MAX: u64 = 10_000;

/// What was found of late, by the digest of its token and by its number. What is not known is not
/// remembered.
pub(super) struct Opened<I, T> {
    /// A digest belongs to one number for ever.
    ids: Cache<[u8; 32], I>,
    kept: Cache<I, T>,
    /// Revocations that have ended; what was read before one does not get in after it.
    revocations: AtomicU64,
}

/// How many revocations had ended when a lookup began.
#[derive(Clone, Copy)]
pub(super) struct Began(u64);

impl<I, T> Opened<I, T>
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

    /// To be called before the store is asked for what is then kept.
    pub(super) fn begin(&self) -> Began {
        Began(self.revocations.load(Ordering::SeqCst))
    }

    /// Keeps what the store answered to a lookup by digest.
    pub(super) fn keep_opened(&self, digest: [u8; 32], id: I, found: &T, began: Began) {
        self.ids.insert(digest, id);
        self.keep(id, found, began);
    }

    /// Keeps what the store answered.
    pub(super) fn keep(&self, id: I, found: &T, Began(revocations): Began) {
        self.kept.entry(id).and_compute_with(|_| {
            let current = self.revocations.load(Ordering::SeqCst) == revocations;
            if current { Op::Put(found.clone()) } else { Op::Nop }
        });
    }

    /// Forgets what the store says it revoked.
    pub(super) fn revoked<R>(&self, revoked: &Result<Option<R>>, id: impl Fn(&R) -> I) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        match revoked {
            Ok(Some(is)) => drop(self.kept.entry(id(is)).and_compute_with(|_| Op::Remove)),
            Ok(None) => {}
            // It may have come to pass.
            Err(_) => self.kept.invalidate_all(),
        }
    }
}
