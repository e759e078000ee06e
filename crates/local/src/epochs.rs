//! Write counters that detect late cache fills.

use std::hash::{BuildHasher, Hash, RandomState};

use parking_lot::{Mutex, MutexGuard};

/// Enough that concurrent writes seldom share a counter: with 100 of them, one in 160.
const STRIPES: usize = 1 << 14;

/// Counts completed writes per key; many keys share a counter. A reader notes the count before it reads the store and
/// fills the cache only if the count is unchanged. The cache is changed only under the key's lock.
pub(crate) struct Epochs {
    counts: Box<[Mutex<u64>]>,
    hasher: RandomState,
}

impl Epochs {
    pub(crate) fn new() -> Self {
        Self { counts: (0..STRIPES).map(|_| Mutex::new(0)).collect(), hasher: RandomState::new() }
    }

    /// Returns the current count of `key`.
    pub(crate) fn of<K: Hash + ?Sized>(&self, key: &K) -> u64 {
        *self.lock(key)
    }

    /// Counts a write that leaves no entry in the cache.
    pub(crate) fn advance<K: Hash + ?Sized>(&self, key: &K) {
        *self.lock(key) += 1;
    }

    /// Locks and returns the count of `key`.
    pub(crate) fn lock<K: Hash + ?Sized>(&self, key: &K) -> MutexGuard<'_, u64> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let hash = self.hasher.hash_one(key) as usize;
        self.counts[hash % STRIPES].lock()
    }
}
