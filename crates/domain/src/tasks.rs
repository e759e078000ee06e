//! Work that runs to completion even if its caller is dropped.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};

use crate::security;

/// Runs work to completion in the background, independent of the caller.
pub trait Tasks: Send + Sync {
    /// Starts `task` in the background.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

/// A future that is polled by its caller and passed to [`Tasks`] only if it is dropped before it completes: no work
/// moves between threads while the caller waits.
pub struct RunToCompletion<T: Send + 'static> {
    work: Option<BoxFuture<'static, T>>,
    tasks: Arc<dyn Tasks>,
}

impl<T: Send + 'static> RunToCompletion<T> {
    /// Wraps `work`; `tasks` completes it if this future is dropped.
    pub fn new(tasks: Arc<dyn Tasks>, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { work: Some(work.boxed()), tasks }
    }
}

impl<T: Send + 'static> Future for RunToCompletion<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for RunToCompletion<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.tasks.spawn(security::carried(work.map(drop)).boxed());
        }
    }
}
