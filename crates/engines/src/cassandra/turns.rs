//! Turns: one lightweight transaction at a time on a row, within this process. Transactions that meet
//! on a row make each other start over; a queue here is cheaper than a contest there.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use lodge_domain::{Error, Result};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

/// How long a turn may be waited for.
const PATIENCE: Duration = Duration::from_secs(10);

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
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when it does not come in some seconds.
    pub(crate) async fn of(&self, key: &[u8]) -> Result<MutexGuard<'_, ()>> {
        let place = self.hasher.hash_one(key) % self.queues.len() as u64;
        let queue = self.queues[usize::try_from(place).unwrap_or_default()].lock();
        timeout(PATIENCE, queue).await.map_err(|_| Error::unavailable("too many write this row"))
    }
}
