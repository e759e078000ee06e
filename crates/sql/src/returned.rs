//! The result of work that runs on another thread.

use std::sync::Arc;

use lodge_domain::{Error, Result};
use parking_lot::Mutex;

use crate::{Failure, Tx, Work};

/// The result that work leaves for its caller. What lies between the two, threads and queues and transactions, need not
/// know its type, and so is compiled once and not for each type.
pub struct Returned<T>(Arc<Mutex<Option<T>>>);

impl<T> Default for Returned<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Returned<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Returned<T> {
    /// Returns `work` as work that leaves its result here.
    pub fn work(&self, work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static) -> Work
    where
        T: Send + 'static,
    {
        let returned = self.clone();
        Box::new(move |tx| work(tx).map(|result| returned.set(result)))
    }

    /// Leaves a result, in place of that of an earlier run.
    pub fn set(&self, result: T) {
        *self.0.lock() = Some(result);
    }

    /// Takes the result.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] when no run has left one.
    pub fn take(&self) -> Result<T> {
        let result = self.0.lock().take();
        result.ok_or_else(|| Error::internal("work on the database left no result"))
    }
}
