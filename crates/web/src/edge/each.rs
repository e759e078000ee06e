//! How many of something each may have at once.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use parking_lot::Mutex;

/// What each has: of those who have any.
pub(crate) struct Each<K> {
    places: usize,
    retry_after: Duration,
    held: Mutex<HashMap<K, usize>>,
}

/// One of them, given back when it is dropped.
#[must_use]
pub(crate) struct OneOf<K: Hash + Eq> {
    of: K,
    each: Arc<Each<K>>,
}

impl<K: Hash + Eq + Clone> Each<K> {
    /// So many for each, and when to ask again who has them all.
    pub(crate) fn new(places: usize, retry_after: Duration) -> Arc<Self> {
        Arc::new(Self { places, retry_after, held: Mutex::default() })
    }

    /// Takes one; [`Error::TooMany`] if `of` has all that they may.
    pub(crate) fn take(self: &Arc<Self>, of: K) -> Result<OneOf<K>> {
        let mut held = self.held.lock();
        let count = held.entry(of.clone()).or_default();
        if *count >= self.places {
            return Err(Error::TooMany { retry_after: self.retry_after });
        }
        *count += 1;
        Ok(OneOf { of, each: Arc::clone(self) })
    }

    /// How many have any.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held.lock().len()
    }
}

impl<K: Hash + Eq> Drop for OneOf<K> {
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
