//! Writes that end even if whoever asked for them goes away: their commit may still come, and the
//! cache must learn of it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;

/// A future that goes on by itself when it is dropped before its end.
pub(crate) struct Finish<T: Send + 'static> {
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T: Send + 'static> Finish<T> {
    /// Drives `future` to its end.
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { future: Some(Box::pin(future)) }
    }
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        // Without a runtime there is nobody left to read the cache.
        if let Ok(runtime) = Handle::try_current() {
            // It ends when the store answers, which a closing store does at once.
            runtime.spawn(future);
        }
    }
}
