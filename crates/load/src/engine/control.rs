//! State shared by the threads of a run: the stop signal, and the counters for the progress bar.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

/// The signal to stop sending; responses to requests in flight are still awaited.
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

/// Counters of one thread, on cache lines of their own to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress {
    succeeded: AtomicU64,
    failed: AtomicU64,
}

impl Progress {
    pub(crate) fn count(&self, success: bool) {
        let counter = if success { &self.succeeded } else { &self.failed };
        // Each counter has one writer: a load and a store are enough.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the successes and errors so far.
    pub(crate) fn seen(&self) -> (u64, u64) {
        (self.succeeded.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}
