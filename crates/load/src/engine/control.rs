//! What the threads of a run share while it goes: the order to stop, and the counts for the progress bar.

use std::sync::atomic::{AtomicU64, Ordering};

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
