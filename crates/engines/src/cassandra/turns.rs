//! Turns: one lightweight transaction at a time on a row, within this process. Transactions that meet
//! on a row make each other start over; a queue here is cheaper than a contest there.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Mutex, MutexGuard};

/// Queues; rows share one by their hash.
const QUEUES: usize = 1024;

/// Who is to write which row.
pub(crate) struct Turns {
    queues: Box<[Mutex<()>]>,
    hasher: RandomState,
}

impl Turns {
    pub(crate) fn new() -> Self {
        let queues = (0..QUEUES).map(|_| Mutex::new(())).collect();
        Self { queues, hasher: RandomState::new() }
    }

    /// Waits for the turn to write the row of `key`.
    pub(crate) async fn of(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        let place = self.hasher.hash_one(key) % self.queues.len() as u64;
        self.queues[usize::try_from(place).unwrap_or_default()].lock().await
    }
}
