//! Background tasks that continue after their caller has gone.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use lodge_domain::Tasks;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::task::TaskTracker;

/// The timeout for background tasks at shutdown.
const LAST_TASKS: Duration = Duration::from_secs(10);

/// Background tasks that the process waits for before it exits. They run outside the connection lanes, which
/// stop earlier.
pub(super) struct BackgroundTasks {
    tracker: TaskTracker,
    runtime: Handle,
}

impl BackgroundTasks {
    /// Returns an empty set whose tasks run on the current runtime.
    pub(super) fn on_current_runtime() -> Arc<Self> {
        Arc::new(Self { tracker: TaskTracker::new(), runtime: Handle::current() })
    }

    /// Waits for all tasks. No task may be spawned afterwards.
    pub(super) async fn finish(&self) {
        self.tracker.close();
        if timeout(LAST_TASKS, self.tracker.wait()).await.is_err() {
            tracing::warn!("background tasks did not finish within {LAST_TASKS:?}");
        }
    }
}

impl Tasks for BackgroundTasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tracker.spawn_on(task, &self.runtime);
    }
}
