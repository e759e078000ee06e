//! What goes on when whoever asked for it has gone.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use lodge_domain::Tasks;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::task::TaskTracker;

/// How long what was begun may take to come to its end when the server stops.
const LAST_TASKS: Duration = Duration::from_secs(10);

/// Tasks for which the process waits before it ends. They run beside the connections' lanes, which end
/// before.
pub(super) struct Tracked {
    tracker: TaskTracker,
    runtime: Handle,
}

impl Tracked {
    /// None yet; they run in the caller's runtime.
    pub(super) fn here() -> Arc<Self> {
        Arc::new(Self { tracker: TaskTracker::new(), runtime: Handle::current() })
    }

    /// Waits for what was begun, when nothing begins any more.
    pub(super) async fn finish(&self) {
        self.tracker.close();
        if timeout(LAST_TASKS, self.tracker.wait()).await.is_err() {
            tracing::warn!("what was begun has not come to its end in time");
        }
    }
}

impl Tasks for Tracked {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tracker.spawn_on(task, &self.runtime);
    }
}
