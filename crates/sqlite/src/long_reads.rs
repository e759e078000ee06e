//! Pauses long reads for checkpoints.

use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long a pause waits for running reads: longer than a search takes.
const RUNNING_WAIT: Duration = Duration::from_secs(4);

/// How long a read waits for the end of a pause: longer than one lasts.
const PAUSE_WAIT: Duration = Duration::from_secs(5);

/// Searches and exports. Where one follows the other, there is always one that needs the write-ahead log, which then
/// could not start anew; so a checkpoint pauses them first.
#[derive(Debug, Default)]
pub(crate) struct LongReads(RwLock<()>);

/// A running read; none if the pause before it took too long.
#[must_use]
pub(crate) struct LongRead<'a>(
    #[expect(dead_code, reason = "it is held")] Option<RwLockReadGuard<'a, ()>>,
);

/// A pause, which ends when it is dropped.
#[must_use]
pub(crate) struct Pause<'a>(#[expect(dead_code, reason = "it is held")] RwLockWriteGuard<'a, ()>);

impl LongReads {
    /// Begins a read, after the pause if there is one. Blocks.
    pub(crate) fn begin(&self) -> LongRead<'_> {
        LongRead(self.0.try_read_for(PAUSE_WAIT))
    }

    /// Lets no read begin, and waits for the running ones; `None` if one of them takes too long.
    pub(crate) fn pause(&self) -> Option<Pause<'_>> {
        self.0.try_write_for(RUNNING_WAIT).map(Pause)
    }
}
