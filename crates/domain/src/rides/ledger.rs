//! The books: what was accepted is stored, was stored before, or is on its way; the rest was refused.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{ForEver, NamedBatch, Recorded, RideEvent, RideLog};
use crate::{Finish, Result, Tasks};

/// What this process has been sent since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Accepted, which is for good.
    pub accepted: u64,
    /// Stored.
    pub stored: u64,
    /// Sent again, and the same as before.
    pub duplicates: u64,
    /// Refused, for whatever reason. Where the store did not say whether it has them, they are here too.
    pub refused: u64,
    /// On which the store has not decided: neither accepted nor refused.
    pub undecided: u64,
}

impl Progress {
    /// Accepted, and on their way to the store. There are none where nothing is accepted before it is
    /// stored.
    pub fn in_flight(&self) -> u64 {
        self.accepted - self.stored - self.duplicates
    }
}

/// Both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Of this process.
    pub since_start: Progress,
    /// Of the store.
    pub for_ever: ForEver,
}

/// Counts what a process is sent. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Books(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    progress: Progress,
    /// Refused elsewhere than in the store, and not yet noted there.
    unnoted: u64,
}

/// Events before the store. If it never says what came of them, they count as refused.
#[must_use]
struct Undecided {
    books: Books,
    events: u64,
}

impl Books {
    /// Stores events, and counts what came of them also if nobody waits for it any more.
    pub(super) fn record(
        &self,
        log: Arc<dyn RideLog>,
        tasks: Arc<dyn Tasks>,
        batch: Option<NamedBatch>,
        events: Vec<RideEvent>,
    ) -> Finish<Result<Vec<Recorded>>> {
        let undecided = self.take_in(events.len());
        Finish::new(tasks, async move {
            let recorded = match batch {
                Some(batch) => log.record_batch(batch, events).await,
                None => log.record(events).await,
            };
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

    /// Counts events that were refused before they came to the store.
    pub(super) fn refuse(&self, events: u64) {
        let mut entries = self.0.lock();
        entries.progress.refused += events;
        entries.unnoted += events;
    }

    /// Those of the refused that are to be noted in the store.
    pub(super) fn take_unnoted(&self) -> u64 {
        std::mem::take(&mut self.0.lock().unnoted)
    }

    /// Puts them back: they could not be noted.
    pub(super) fn put_back_unnoted(&self, events: u64) {
        self.0.lock().unnoted += events;
    }

    pub(super) fn progress(&self) -> Progress {
        self.0.lock().progress
    }
}

impl Undecided {
    /// Counts what came of them.
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
    use async_trait::async_trait;
    use futures_util::future::BoxFuture;
    use jiff::Timestamp;
    use tokio::sync::Semaphore;

    use super::{
        Recorded::{Duplicate, OtherEvent, Stored},
        *,
    };
    use crate::{
        Error,
        rides::{EventId, GateId, Rebuilt, ResortId, Season, What},
    };

    /// A store that decides when it is let.
    struct Slow(Semaphore);

    #[async_trait]
    impl RideLog for Slow {
        async fn record(&self, events: Vec<RideEvent>) -> Result<Vec<Recorded>> {
            let leave = self.0.acquire().await.map_err(Error::internal)?;
            leave.forget();
            Ok(vec![Stored; events.len()])
        }

        async fn record_batch(
            &self,
            _: NamedBatch,
            events: Vec<RideEvent>,
        ) -> Result<Vec<Recorded>> {
            self.record(events).await
        }

        async fn note_refused(&self, _: u64) -> Result<()> {
            Ok(())
        }

        async fn ledger(&self) -> Result<ForEver> {
            Ok(ForEver::default())
        }

        async fn add_season(&self, _: ResortId, _: Season) -> Result<()> {
            Ok(())
        }

        async fn added_seasons(&self, _: ResortId) -> Result<Vec<Season>> {
            Ok(Vec::new())
        }

        async fn rebuild(&self) -> Result<Rebuilt> {
            Ok(Rebuilt::default())
        }
    }

    /// Tasks that wait until somebody does them.
    #[derive(Default)]
    struct Kept(Mutex<Vec<BoxFuture<'static, ()>>>);

    impl Tasks for Kept {
        fn spawn(&self, task: BoxFuture<'static, ()>) {
            self.0.lock().push(task);
        }
    }

    #[tokio::test]
    async fn what_became_of_an_event_is_counted_also_if_its_sender_has_gone() {
        let (log, tasks) = (Arc::new(Slow(Semaphore::new(0))), Arc::new(Kept::default()));
        let books = Books::default();
        let id = EventId::Text("one".into());
        let (gate, what, at) = (GateId::NOBODY, What::Void(id.clone()), Timestamp::UNIX_EPOCH);
        let event = RideEvent { gate, id, what, at };
        let recording = books.record(log.clone(), tasks.clone(), None, vec![event]);
        assert_eq!(books.progress().undecided, 1);
        drop(recording);
        assert_eq!(books.progress().undecided, 1);
        log.0.add_permits(1);
        let left = std::mem::take(&mut *tasks.0.lock());
        assert_eq!(left.len(), 1);
        futures_util::future::join_all(left).await;
        let stored = Progress { accepted: 1, stored: 1, ..Progress::default() };
        assert_eq!(books.progress(), stored);
    }

    #[test]
    fn what_is_accepted_stays_so_and_is_stored_was_stored_before_or_is_in_flight() {
        let books = Books::default();
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
        let at_last = Progress { accepted: 3, stored: 2, duplicates: 1, refused: 7, undecided: 0 };
        assert_eq!(progress(), at_last);
        // The store has counted one of them itself.
        assert_eq!((books.take_unnoted(), books.take_unnoted()), (6, 0));
    }
}
