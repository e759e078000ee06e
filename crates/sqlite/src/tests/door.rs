//! A door before which threads wait.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

/// What a failed test waits for at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// A door that is shut until it is opened.
#[derive(Clone, Default)]
pub(super) struct Door(Arc<(Mutex<Inside>, Condvar)>);

#[derive(Default)]
struct Inside {
    waiting: usize,
    open: bool,
}

impl Door {
    /// Waits on a thread of the engine.
    pub(super) fn wait(&self) {
        let mut inside = self.0.0.lock();
        inside.waiting += 1;
        let opened = self.0.1.wait_while_for(&mut inside, |inside| !inside.open, PATIENCE);
        assert!(!opened.timed_out(), "the door stays shut");
    }

    pub(super) fn open(&self) {
        self.0.0.lock().open = true;
        self.0.1.notify_all();
    }

    /// Waits until so many threads wait.
    pub(super) async fn reached(&self, waiting: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.0.0.lock().waiting < waiting {
            assert!(Instant::now() < deadline, "{waiting} threads are there");
            tokio::task::yield_now().await;
        }
    }
}
