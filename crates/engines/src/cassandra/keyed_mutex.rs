//! A keyed mutex: one lightweight transaction at a time on a row, within this process. Concurrent
//! transactions on a row make each other retry; a queue here is cheaper than that contention.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use lodge_domain::{Error, Result};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

/// Timeout of waiting for the lock of a row.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of mutexes, which rows share by hash.
const QUEUES: usize = 1024;

/// Mutexes by the hash of a row's key.
pub(crate) struct KeyedMutex {
    queues: Box<[Mutex<()>]>,
    hasher: RandomState,
}

impl KeyedMutex {
    pub(crate) fn new() -> Self {
        let queues = (0..QUEUES).map(|_| Mutex::new(())).collect();
        Self { queues, hasher: RandomState::new() }
    }

    /// Locks the row of `key`.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the lock is not free within [`LOCK_TIMEOUT`].
    pub(crate) async fn lock(&self, key: &[u8]) -> Result<MutexGuard<'_, ()>> {
        timeout(LOCK_TIMEOUT, self.queue(key).lock())
            .await
            .map_err(|_| Error::unavailable("the row's lock timed out"))
    }

    /// Locks the row of `key` if that needs no wait.
    pub(crate) fn try_lock(&self, key: &[u8]) -> Option<MutexGuard<'_, ()>> {
        self.queue(key).try_lock().ok()
    }

    fn queue(&self, key: &[u8]) -> &Mutex<()> {
        let place = self.hasher.hash_one(key) % self.queues.len() as u64;
        &self.queues[usize::try_from(place).unwrap_or_default()]
    }
}
