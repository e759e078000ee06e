//! Single-flight lookups: concurrent lookups of one key are shared, and their number is bounded.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use lodge_domain::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// The outcome of a lookup, shared by all its callers.
pub(crate) type SharedResult<V> = std::result::Result<V, Arc<Error>>;

type Landing<V> = Shared<BoxFuture<'static, SharedResult<V>>>;
type UnderWay<K, V> = Arc<Mutex<HashMap<K, Lookup<V>>>>;

/// The lookups of values `V` by keys `K` in flight.
pub(crate) struct SingleFlight<K, V: Clone> {
    under_way: UnderWay<K, V>,
    seats: Arc<Semaphore>,
    number: AtomicU64,
}

struct Lookup<V: Clone> {
    epoch: u64,
    number: u64,
    landing: WeakShared<BoxFuture<'static, SharedResult<V>>>,
}

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Creates a set of at most `lookups_max` concurrent lookups.
    pub(crate) fn new(lookups_max: usize) -> Self {
        let seats = Arc::new(Semaphore::new(lookups_max.min(Semaphore::MAX_PERMITS)));
        Self { under_way: Arc::default(), seats, number: AtomicU64::new(0) }
    }

    /// Joins the lookup of `key` that began in `epoch`, or starts one. A lookup of an earlier epoch is not joined: a
    /// write may have replaced what it read.
    pub(crate) async fn join<F>(
        &self,
        key: &K,
        epoch: u64,
        look_up: impl FnOnce() -> F + Send,
    ) -> Result<V>
    where
        F: Future<Output = Result<V>> + Send + 'static,
    {
        self.join_or_start(key, epoch, look_up)?.await.map_err(|error| again(&error))
    }

    fn join_or_start<F>(
        &self,
        key: &K,
        epoch: u64,
        look_up: impl FnOnce() -> F,
    ) -> Result<Landing<V>>
    where
        F: Future<Output = Result<V>> + Send + 'static,
    {
        let mut under_way = self.under_way.lock();
        let flight = under_way.get(key).filter(|flight| flight.epoch == epoch);
        if let Some(landing) = flight.and_then(|flight| flight.landing.upgrade()) {
            return Ok(landing);
        }
        let seat = Arc::clone(&self.seats)
            .try_acquire_owned()
            .map_err(|_| Error::unavailable("too many lookups in flight"))?;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let leaves = Leaves { under_way: Arc::clone(&self.under_way), key: key.clone(), number };
        let look_up = look_up();
        let landing = async move {
            let _held = (seat, leaves);
            look_up.await.map_err(Arc::new)
        }
        .boxed()
        .shared();
        if let Some(weak) = landing.downgrade() {
            under_way.insert(key.clone(), Lookup { epoch, number, landing: weak });
        }
        Ok(landing)
    }
}

/// Removes a lookup from the map on drop, whether it completed or all callers were dropped.
struct Leaves<K: Eq + Hash, V: Clone> {
    under_way: UnderWay<K, V>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash, V: Clone> Drop for Leaves<K, V> {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        if under_way.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            under_way.remove(&self.key);
        }
    }
}

/// Copies an error for another caller.
fn again(error: &Arc<Error>) -> Error {
    match &**error {
        Error::Unavailable { retry_after, .. } => {
            Error::Unavailable { retry_after: *retry_after, cause: Arc::clone(error).into() }
        }
        Error::Unauthenticated(why) => Error::Unauthenticated(why.clone()),
        _ => Error::internal(Arc::clone(error)),
    }
}
