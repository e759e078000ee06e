//! The ledger of ride events: every accepted event is stored, a duplicate, or in flight; all others were refused.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Recorded, StoreTotals};
use crate::{Result, RunToCompletion, Tasks};

/// The events that this process has received since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessTotals {
    /// Accepted, which is final.
    pub accepted: u64,
    /// Stored.
    pub stored: u64,
    /// Sent again with the same content.
    pub duplicates: u64,
    /// Refused, for any reason, including those of which the store did not say whether it has them.
    pub refused: u64,
    /// Being written to the store: neither accepted nor refused yet.
    pub undecided: u64,
}

impl ProcessTotals {
    /// Returns the events that are accepted but not yet stored; always 0 where events are stored before they are
    /// accepted.
    pub fn in_flight(&self) -> u64 {
        self.accepted - self.stored - self.duplicates
    }
}

/// The counts of this process and of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LedgerTotals {
    /// The counts of this process.
    pub since_start: ProcessTotals,
    /// The counts of the store.
    pub for_ever: StoreTotals,
}

/// The counters of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    progress: ProcessTotals,
    /// Refused before they reached the store, and not yet recorded there.
    unnoted: u64,
}

/// Events being written to the store. On drop without a decision they count as refused.
#[must_use]
struct Undecided {
    books: Ledger,
    events: u64,
}

impl Ledger {
    /// Waits until `stored` completes, and counts the outcome of `events` events even if the caller is dropped.
    pub(super) fn record(
        &self,
        tasks: Arc<dyn Tasks>,
        events: usize,
        stored: impl Future<Output = Result<Vec<Recorded>>> + Send + 'static,
    ) -> RunToCompletion<Result<Vec<Recorded>>> {
        let undecided = self.take_in(events);
        RunToCompletion::new(tasks, async move {
            let recorded = stored.await;
            undecided.decided(&recorded);
            recorded
        })
    }

    /// Counts events as undecided.
    fn take_in(&self, events: usize) -> Undecided {
        let events = events as u64;
        self.0.lock().progress.undecided += events;
        Undecided { books: self.clone(), events }
    }

    /// Counts events that were refused before they reached the store.
    pub(super) fn refuse(&self, events: u64) {
        let mut entries = self.0.lock();
        entries.progress.refused += events;
        entries.unnoted += events;
    }

    /// Returns and resets the refused events to record in the store.
    pub(super) fn take_unnoted(&self) -> u64 {
        std::mem::take(&mut self.0.lock().unnoted)
    }

    /// Adds events back that could not be recorded.
    pub(super) fn put_back_unnoted(&self, events: u64) {
        self.0.lock().unnoted += events;
    }

    pub(super) fn progress(&self) -> ProcessTotals {
        self.0.lock().progress
    }
}

impl Undecided {
    /// Counts the outcomes.
    fn decided(mut self, recorded: &Result<Vec<Recorded>>) {
        let Ok(recorded) = recorded else { return };
        let count = |wanted| recorded.iter().filter(|came| **came == wanted).count() as u64;
        let (stored, duplicates) = (count(Recorded::Stored), count(Recorded::Duplicate));
        let events = std::mem::take(&mut self.events);
        let progress = &mut self.books.0.lock().progress;
        progress.undecided -= events;
        progress.accepted += stored + duplicates;
        progress.stored += stored;
        progress.duplicates += duplicates;
        progress.refused += events - stored - duplicates;
    }
}

impl Drop for Undecided {
    fn drop(&mut self) {
        if self.events > 0 {
            self.books.0.lock().progress.undecided -= self.events;
            self.books.refuse(self.events);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_channel::oneshot;
    use futures_util::future::BoxFuture;

    use super::{
        Recorded::{Duplicate, OtherEvent, Stored},
        *,
    };
    use crate::Error;

    /// Tasks that are kept until the test runs them.
    #[derive(Default)]
    struct Kept(Mutex<Vec<BoxFuture<'static, ()>>>);

    impl Tasks for Kept {
        fn spawn(&self, task: BoxFuture<'static, ()>) {
            self.0.lock().push(task);
        }
    }

    #[tokio::test]
    async fn an_outcome_is_counted_even_if_the_sender_disconnects() {
        let (books, tasks) = (Ledger::default(), Arc::new(Kept::default()));
        let (decide, decided) = oneshot::channel();
        let stored = async { decided.await.map_err(Error::internal) };
        let recording = books.record(tasks.clone(), 1, stored);
        assert_eq!(books.progress().undecided, 1);
        drop(recording);
        assert_eq!(books.progress().undecided, 1);
        decide.send(vec![Stored]).unwrap();
        let left = std::mem::take(&mut *tasks.0.lock());
        assert_eq!(left.len(), 1);
        futures_util::future::join_all(left).await;
        let stored = ProcessTotals { accepted: 1, stored: 1, ..ProcessTotals::default() };
        assert_eq!(books.progress(), stored);
    }

    #[test]
    fn every_accepted_event_stays_so_and_is_stored_a_duplicate_or_in_flight() {
        let books = Ledger::default();
        let mut accepted = 0;
        let mut progress = || {
            let now = books.progress();
            assert_eq!(now.accepted, now.stored + now.duplicates + now.in_flight(), "{now:?}");
            assert!(now.accepted >= accepted, "{now:?} after {accepted}");
            accepted = now.accepted;
            now
        };
        let [first, second, third] = [4, 2, 1].map(|events| books.take_in(events));
        assert_eq!(progress().undecided, 7);
        first.decided(&Ok(vec![Stored, Duplicate, OtherEvent, Stored]));
        assert_eq!((progress().accepted, progress().refused), (3, 1));
        second.decided(&Err(Error::unavailable("no disk")));
        drop(third);
        books.refuse(3);
        let at_last =
            ProcessTotals { accepted: 3, stored: 2, duplicates: 1, refused: 7, undecided: 0 };
        assert_eq!(progress(), at_last);
        // The store has counted one of the seven itself.
        assert_eq!((books.take_unnoted(), books.take_unnoted()), (6, 0));
    }
}
