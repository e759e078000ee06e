//! A router that can say which routes it has.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    routing::{MethodFilter, on},
};
use http::Method;

use crate::body::LONGEST_BODY_BYTES;

/// Routes with their methods, in the order in which they were added; `S` is what their handlers work with.
pub(crate) struct Routes<S = ()> {
    router: Router<S>,
    list: Vec<(Method, &'static str)>,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self { router: Router::new(), list: Vec::new() }
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// Adds a route; GET answers HEAD too.
    pub(crate) fn on<T: 'static>(
        mut self,
        method: Method,
        path: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        let filter = match method {
            Method::GET => MethodFilter::GET,
            Method::POST => MethodFilter::POST,
            Method::PUT => MethodFilter::PUT,
            Method::PATCH => MethodFilter::PATCH,
            _ => MethodFilter::DELETE,
        };
        self.router = self.router.route(path, on(filter, handler));
        self.list.push((method, path));
        self
    }

    /// The same for a route whose bodies are as long as [`LONGEST_BODY_BYTES`].
    pub(crate) fn on_long<T: 'static>(
        self,
        method: Method,
        path: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        let longest = usize::try_from(LONGEST_BODY_BYTES).unwrap_or(usize::MAX);
        self.on_within(longest, method, path, handler)
    }

    /// The same for a route whose bodies have so many bytes at most.
    pub(crate) fn on_within<T: 'static>(
        self,
        bytes_max: usize,
        method: Method,
        path: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        self.on(method, path, handler.layer(DefaultBodyLimit::max(bytes_max)))
    }

    /// Both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.list.extend(other.list);
        self
    }

    /// Gives the handlers what they work with.
    pub(crate) fn with(self, state: S) -> Routes {
        Routes { router: self.router.with_state(state), list: self.list }
    }

    /// The router.
    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }

    /// What was added.
    pub(crate) fn list(self) -> Vec<(Method, &'static str)> {
        self.list
    }
}
