//! Counters that tell a late fill from a current one.

use std::hash::{BuildHasher, Hash, RandomState};

use parking_lot::{Mutex, MutexGuard};

/// Enough that two writes under way at once seldom share a counter: with 100 of them, one in 160.
const STRIPES: usize = 1 << 14;

/// For each key (many share a counter), how many writes have ended. Whoever is about to read the store
/// notes the count, and puts what was read into the cache only if it has not moved. The cache is
/// changed only under the key's lock.
pub(crate) struct Epochs {
    counts: Box<[Mutex<u64>]>,
    hasher: RandomState,
}

impl Epochs {
    pub(crate) fn new() -> Self {
        Self { counts: (0..STRIPES).map(|_| Mutex::new(0)).collect(), hasher: RandomState::new() }
    }

    /// The count of `key` now.
    pub(crate) fn of<K: Hash + ?Sized>(&self, key: &K) -> u64 {
        *self.lock(key)
    }

    /// Counts a write after which nothing is in the cache.
    pub(crate) fn advance<K: Hash + ?Sized>(&self, key: &K) {
        *self.lock(key) += 1;
    }

    /// The count of `key`, which stands still while it is held.
    pub(crate) fn lock<K: Hash + ?Sized>(&self, key: &K) -> MutexGuard<'_, u64> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let hash = self.hasher.hash_one(key) as usize;
        self.counts[hash % STRIPES].lock()
    }
}
