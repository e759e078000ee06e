//! The books: what was taken in is stored, was stored before, or is on its way.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::Recorded;

/// What has come of all events since there is the store; counted in the transaction that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ForEver {
    /// Stored, voids too.
    pub stored: u64,
    /// Sent again, and the same as before.
    pub duplicates: u64,
    /// Refused. Those that never reached the store are noted there a little later.
    pub refused: u64,
}

/// What this process has taken in since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Taken in: stored, duplicates and in flight together.
    pub accepted: u64,
    /// Stored.
    pub stored: u64,
    /// Sent again, and the same as before.
    pub duplicates: u64,
    /// On their way to the store.
    pub in_flight: u64,
    /// Refused.
    pub refused: u64,
    /// Answered with 503, or not at all because whoever asked had gone: some may be stored, and to send
    /// them again is safe.
    pub unknown: u64,
}

/// Both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Of this process.
    pub since_start: Progress,
    /// Of the store.
    pub for_ever: ForEver,
}

/// Counts what a process takes in.
#[derive(Debug, Default)]
pub(super) struct Books {
    progress: Mutex<Progress>,
    /// Refused before they came to the store, and not yet noted there.
    unnoted: Mutex<u64>,
}

/// Events on their way. Dropped before it is known what came of them, it counts them as unknown.
pub(super) struct InFlight<'a> {
    books: &'a Books,
    events: u64,
}

impl Books {
    /// Counts events as taken in.
    pub(super) fn take_in(&self, events: usize) -> InFlight<'_> {
        let events = events as u64;
        let mut progress = self.progress.lock();
        progress.accepted += events;
        progress.in_flight += events;
        InFlight { books: self, events }
    }

    /// Counts events that were refused before they were taken in.
    pub(super) fn refuse(&self, events: u64) {
        self.progress.lock().refused += events;
        *self.unnoted.lock() += events;
    }

    /// Those of them that are to be noted in the store.
    pub(super) fn take_unnoted(&self) -> u64 {
        std::mem::take(&mut *self.unnoted.lock())
    }

    /// Puts them back: they could not be noted.
    pub(super) fn put_back_unnoted(&self, events: u64) {
        *self.unnoted.lock() += events;
    }

    pub(super) fn progress(&self) -> Progress {
        *self.progress.lock()
    }
}

impl InFlight<'_> {
    /// Counts what came of them.
    pub(super) fn decided(mut self, recorded: &[Recorded]) {
        let count = |wanted| recorded.iter().filter(|came| **came == wanted).count() as u64;
        let (stored, duplicates) = (count(Recorded::Stored), count(Recorded::Duplicate));
        let mut progress = self.books.progress.lock();
        progress.in_flight -= self.events;
        progress.accepted -= self.events - stored - duplicates;
        progress.stored += stored;
        progress.duplicates += duplicates;
        progress.refused += self.events - stored - duplicates;
        self.events = 0;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.events > 0 {
            let mut progress = self.books.progress.lock();
            progress.in_flight -= self.events;
            progress.accepted -= self.events;
            progress.unknown += self.events;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Recorded::{Duplicate, OtherEvent, Stored},
        *,
    };

    #[test]
    fn what_was_accepted_is_stored_was_stored_before_or_is_in_flight() {
        let books = Books::default();
        let balanced = || {
            let Progress { accepted, stored, duplicates, in_flight, .. } = books.progress();
            accepted == stored + duplicates + in_flight
        };
        let (first, second) = (books.take_in(4), books.take_in(2));
        assert!(balanced() && books.progress().in_flight == 6);
        first.decided(&[Stored, Duplicate, OtherEvent, Stored]);
        assert!(balanced());
        drop(second);
        books.refuse(3);
        let at_last = Progress {
            accepted: 3,
            stored: 2,
            duplicates: 1,
            in_flight: 0,
            refused: 4,
            unknown: 2,
        };
        assert_eq!(books.progress(), at_last);
        assert_eq!((books.take_unnoted(), books.take_unnoted()), (3, 0));
    }
}
