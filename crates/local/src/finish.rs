//! Writes that end even if whoever asked for them goes away: their commit may still come, and the
//! cache must learn of it.

use futures_util::future::BoxFuture;
use lodge_domain::Tasks;
use tokio::runtime::Handle;

/// Goes on in the runtime in which whoever asked was dropped.
pub(super) struct WhereDropped;

impl Tasks for WhereDropped {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        // Without a runtime there is nobody left to read the cache.
        if let Ok(runtime) = Handle::try_current() {
            // It ends when the store answers, which a closing store does at once.
            runtime.spawn(task);
        }
    }
}
