//! A concurrency limit per key.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use parking_lot::Mutex;

/// A concurrency limit per key. Keys without permits use no memory.
pub(crate) struct PerKeyLimit<K> {
    places: usize,
    retry_after: Duration,
    held: Mutex<HashMap<K, usize>>,
}

/// A permit, returned when it is dropped.
#[must_use]
pub(crate) struct PerKeyPermit<K: Hash + Eq> {
    of: K,
    each: Arc<PerKeyLimit<K>>,
}

impl<K: Hash + Eq + Clone> PerKeyLimit<K> {
    /// Allows `places` permits for each key; a refusal carries `retry_after`.
    pub(crate) fn new(places: usize, retry_after: Duration) -> Arc<Self> {
        Arc::new(Self { places, retry_after, held: Mutex::default() })
    }

    /// Takes a permit; [`Error::TooMany`] if the key `of` has all of its permits.
    pub(crate) fn take(self: &Arc<Self>, of: K) -> Result<PerKeyPermit<K>> {
        let mut held = self.held.lock();
        let count = held.entry(of.clone()).or_default();
        if *count >= self.places {
            return Err(Error::TooMany { retry_after: self.retry_after });
        }
        *count += 1;
        Ok(PerKeyPermit { of, each: Arc::clone(self) })
    }

    /// Returns the number of keys with permits.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held.lock().len()
    }
}

impl<K: Hash + Eq> Drop for PerKeyPermit<K> {
    fn drop(&mut self) {
        let mut held = self.each.held.lock();
        if let Some(count) = held.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.of);
            }
        }
    }
}
