//! Writes that run to completion even if their caller is dropped: the commit may still happen, and the cache must be
//! updated.

use futures_util::future::BoxFuture;
use lodge_domain::Tasks;
use tokio::runtime::Handle;

/// Continues a write on the runtime on which its caller was dropped.
pub(super) struct CurrentRuntime;

impl Tasks for CurrentRuntime {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        // Without a runtime no reader of the cache is left.
        if let Ok(runtime) = Handle::try_current() {
            // The task ends when the store answers; a closing store answers at once.
            runtime.spawn(task);
        }
    }
}
