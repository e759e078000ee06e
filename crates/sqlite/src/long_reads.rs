//! Pauses long reads for checkpoints.

use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long a pause waits for running reads: longer than a search takes, or a page of an export usually does.
const RUNNING_WAIT: Duration = Duration::from_secs(4);

/// How long a read waits for the end of a pause. After that it runs beside the checkpoint, which it may prevent.
const PAUSE_WAIT: Duration = Duration::from_secs(5);

/// Searches and exports. Each pins the write-ahead log at its snapshot, and when searches follow one another, the log
/// could never restart. So a checkpoint pauses them first.
#[derive(Debug, Default)]
pub(crate) struct LongReads(RwLock<()>);

/// A running read.
#[must_use]
pub(crate) struct LongRead<'a>(
    #[expect(dead_code, reason = "keeps the lock until it is dropped")]
    Option<RwLockReadGuard<'a, ()>>,
);

/// A pause, which ends when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Pause<'a>(
    #[expect(dead_code, reason = "keeps the lock until it is dropped")] RwLockWriteGuard<'a, ()>,
);

impl LongReads {
    /// Begins a read, after the end of a pause. Blocks.
    pub(crate) fn begin(&self) -> LongRead<'_> {
        LongRead(self.0.try_read_for(PAUSE_WAIT))
    }

    /// Blocks new reads and waits for the running ones; `None` if a read takes too long.
    pub(crate) fn pause(&self) -> Option<Pause<'_>> {
        self.0.try_write_for(RUNNING_WAIT).map(Pause)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread};

    use super::*;

    #[test]
    fn a_read_begins_after_a_pause_and_a_pause_after_the_reads() {
        let (reads, (sender, begun)) = (&LongReads::default(), channel());
        let pause = reads.pause().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let read = reads.begin();
                sender.send(()).unwrap();
                drop(read);
            });
            assert!(begun.try_recv().is_err());
            drop(pause);
            begun.recv_timeout(PAUSE_WAIT).unwrap();
            assert!(reads.pause().is_some());
        });
    }

    #[test]
    fn a_pause_gives_up_on_a_read_without_end() {
        let reads = LongReads::default();
        let read = reads.begin();
        assert!(reads.pause().is_none());
        drop(read);
        assert!(reads.pause().is_some());
    }
}
