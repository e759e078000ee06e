//! What the threads of a run share while it goes: the order to stop, and the counts for the progress bar.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// The order to stop sending; answers under way are still awaited.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control(CancellationToken);

impl Control {
    pub(crate) fn stop(&self) {
        self.0.cancel();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(crate) async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// The one start of all threads.
#[derive(Debug)]
pub(crate) struct Start {
    /// Passed twice by every thread: before and after the start is set.
    ready: Barrier,
    at: OnceLock<Instant>,
}

impl Start {
    pub(crate) fn new(threads: u32) -> Self {
        Self { ready: Barrier::new(threads as usize), at: OnceLock::new() }
    }

    /// Waits for all threads; the start is one instant for all.
    pub(crate) fn begin(&self) -> Instant {
        self.ready.wait();
        let start = *self.at.get_or_init(Instant::now);
        self.ready.wait();
        start
    }
}

/// Counts of one thread, alone on its cache lines so that counting never waits for another core.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress {
    succeeded: AtomicU64,
    failed: AtomicU64,
}

impl Progress {
    pub(crate) fn count(&self, success: bool) {
        let counter = if success { &self.succeeded } else { &self.failed };
        // One writer each: a load and a store are enough.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Successes and errors so far.
    pub(crate) fn seen(&self) -> (u64, u64) {
        (self.succeeded.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}
