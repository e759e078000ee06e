//! Admission of searches to their thread. A search that reads skier days first has buffered ones written back;
//! concurrent searches share one such write.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lodge_domain::{Error, Result};
use lodge_sql::App;
use rusqlite::Connection;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::{
    failure::{Failure, NotAccepted},
    readers::Readers,
};

/// The search thread, its queue slots, and the write-back rounds before searches.
pub(crate) struct Searches {
    thread: Readers,
    slots: Arc<Semaphore>,
    /// Write-back rounds that have begun.
    begun: AtomicU64,
    /// The last round that has ended; locked while a round runs.
    ended: Mutex<u64>,
}

/// A slot on the thread or in its queue; dropping it, when the search has ended or was cancelled, frees the slot.
#[must_use]
pub(crate) struct SearchSlot(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

impl Searches {
    /// Returns the admission to this thread, with this number of slots.
    pub(crate) fn new(thread: Readers, places: usize) -> Self {
        let (begun, ended) = (AtomicU64::new(0), Mutex::new(0));
        Self { thread, slots: Arc::new(Semaphore::new(places)), begun, ended }
    }

    pub(crate) fn acquire(&self) -> Result<SearchSlot> {
        let place = Arc::clone(&self.slots).try_acquire_owned();
        place.map(SearchSlot).map_err(|_| Error::unavailable(NotAccepted::Full("searches")))
    }

    /// Returns when a write-back round that began after this call has ended: its own or that of another search.
    pub(super) async fn wait_for_round(
        &self,
        write: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut ended = self.ended.lock().await;
        if *ended <= begun {
            let round = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            write.await?;
            *ended = round;
        }
        Ok(())
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        place: SearchSlot,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let search = move |connection: &_| {
            let _place = place;
            work(connection)
        };
        self.thread.read(App::Rides, search).await
    }

    pub(crate) fn thread(&self) -> &Readers {
        &self.thread
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, task::Poll};

    use futures_util::poll;
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Options, tests::open};

    #[tokio::test]
    async fn searches_that_arrive_during_a_round_share_the_next_unless_it_fails() {
        let (engine, _folder) = open(&Options::default());
        let rounds = Cell::new(0);
        let (end, ended) = oneshot::channel::<()>();
        let mut first = Box::pin(engine.searches.wait_for_round(async {
            rounds.set(rounds.get() + 1);
            ended.await.map_err(Error::internal)
        }));
        assert!(matches!(poll!(&mut first), Poll::Pending));
        let mut others: Vec<_> = [Err(Error::internal("no")), Ok(()), Ok(()), Ok(())]
            .into_iter()
            .map(|comes_to| {
                Box::pin(engine.searches.wait_for_round(async {
                    rounds.set(rounds.get() + 1);
                    comes_to
                }))
            })
            .collect();
        for other in &mut others {
            assert!(matches!(poll!(other), Poll::Pending));
        }
        end.send(()).unwrap();
        first.await.unwrap();
        let mut succeeded = Vec::new();
        for other in others {
            succeeded.push(other.await.is_ok());
        }
        assert_eq!((succeeded, rounds.get()), (vec![false, true, true, true], 3));
    }
}
