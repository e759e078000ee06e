//! A gate that blocks threads of the engine in tests.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

/// How long a test waits before it fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Blocks threads until it is opened.
#[derive(Clone, Default)]
pub(super) struct ThreadGate(Arc<(Mutex<Inside>, Condvar)>);

#[derive(Default)]
struct Inside {
    waiting: usize,
    open: bool,
}

impl ThreadGate {
    /// Blocks a thread of the engine.
    pub(super) fn wait(&self) {
        let mut inside = self.0.0.lock();
        inside.waiting += 1;
        let opened = self.0.1.wait_while_for(&mut inside, |inside| !inside.open, PATIENCE);
        assert!(!opened.timed_out(), "the door was not opened");
    }

    pub(super) fn open(&self) {
        self.0.0.lock().open = true;
        self.0.1.notify_all();
    }

    /// Waits until this many threads are blocked.
    pub(super) async fn reached(&self, waiting: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.0.0.lock().waiting < waiting {
            assert!(Instant::now() < deadline, "fewer than {waiting} threads reached the door");
            tokio::task::yield_now().await;
        }
    }
}
