//! A router that can say which routes it has, and what the API is of them.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    routing::{MethodFilter, on},
};
use http::Method;
use utoipa::Modify;
use utoipa::openapi::{Components, OpenApi, OpenApiBuilder, PathItem};
use utoipa_axum::router::UtoipaMethodRouter;

/// Routes with their methods, in the order in which they were added; `S` is what their handlers work with.
pub(crate) struct Routes<S = ()> {
    router: Router<S>,
    list: Vec<(Method, String)>,
    document: OpenApi,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::with_document(OpenApiBuilder::new().build())
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes yet, of which the API's document says this.
    pub(crate) fn with_document(document: OpenApi) -> Self {
        Self { router: Router::new(), list: Vec::new(), document }
    }

    /// Adds routes of the API, each where and as the `#[utoipa::path]` of its handler says it.
    pub(crate) fn api(mut self, (schemas, paths, handlers): UtoipaMethodRouter<S>) -> Self {
        for (path, item) in &paths.paths {
            self.router = self.router.route(path, handlers.clone());
            self.list.extend(methods(item).map(|method| (method, path.clone())));
        }
        let components = self.document.components.get_or_insert_with(Components::new);
        components.schemas.extend(schemas);
        self.document.paths.merge(paths);
        self
    }

    /// The same for routes whose bodies have so many bytes at most.
    pub(crate) fn api_within(
        self,
        bytes_max: usize,
        (schemas, paths, handlers): UtoipaMethodRouter<S>,
    ) -> Self {
        self.api((schemas, paths, handlers.layer(DefaultBodyLimit::max(bytes_max))))
    }

    /// Adds to what the document says of every route.
    pub(crate) fn describe(mut self, with: &impl Modify) -> Self {
        with.modify(&mut self.document);
        self
    }

    /// What the API is of these routes.
    pub(crate) fn document(&self) -> OpenApi {
        self.document.clone()
    }

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
        self.list.push((method, path.to_owned()));
        self
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
        self.document.merge(other.document);
        self
    }

    /// Gives the handlers what they work with.
    pub(crate) fn with(self, state: S) -> Routes {
        Routes { router: self.router.with_state(state), list: self.list, document: self.document }
    }

    /// The router.
    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }

    /// What was added.
    pub(crate) fn list(self) -> Vec<(Method, String)> {
        self.list
    }
}

fn methods(item: &PathItem) -> impl Iterator<Item = Method> {
    let operations = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    operations.into_iter().filter(|(_, operation)| operation.is_some()).map(|(method, _)| method)
}
