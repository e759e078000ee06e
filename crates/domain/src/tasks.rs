//! Work that comes to its end, whether or not whoever asked for it waits.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};

/// Goes on with what has to come to its end, whether or not whoever asked for it waits.
pub trait Tasks: Send + Sync {
    /// Begins one.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

/// Work that is done where it is asked for, and handed to [`Tasks`] only if it is let go of before its end:
/// nothing moves between threads while whoever asked stays.
pub struct Finish<T: Send + 'static> {
    work: Option<BoxFuture<'static, T>>,
    tasks: Arc<dyn Tasks>,
}

impl<T: Send + 'static> Finish<T> {
    /// Brings `work` to its end.
    pub fn new(tasks: Arc<dyn Tasks>, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { work: Some(work.boxed()), tasks }
    }
}

impl<T: Send + 'static> Future for Finish<T> {
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

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.tasks.spawn(work.map(drop).boxed());
        }
    }
}
