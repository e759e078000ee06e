//! A router that can say which routes it has, and what the API is of them.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    routing::{MethodFilter, on},
};
use http::Method;
use utoipa::{
    ToSchema,
    openapi::{
        Components, OpenApi, OpenApiBuilder, PathItem, Response, path::Operation, tag::TagBuilder,
    },
};
use utoipa_axum::router::UtoipaMethodRouter;

/// Routes with their methods, in the order in which they were added; `S` is what their handlers work with.
pub(crate) struct Routes<S = ()> {
    router: Router<S>,
    list: Vec<(Method, String)>,
    document: OpenApi,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        let document = OpenApiBuilder::new().build();
        Self { router: Router::new(), list: Vec::new(), document }
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// Adds a group that operations are in, and what is said of it.
    pub(crate) fn tag(mut self, name: &str, about: &str) -> Self {
        let tag = TagBuilder::new().name(name).description(Some(about)).build();
        self.document.tags.get_or_insert_default().push(tag);
        self
    }

    /// Adds a schema that no operation names.
    pub(crate) fn schema<T: ToSchema>(mut self) -> Self {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        let components = self.document.components.get_or_insert_with(Components::new);
        components.schemas.extend(schemas);
        self
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

    /// Adds to what the document says of every operation.
    pub(crate) fn describe(mut self, with: impl Fn(&mut Operation)) -> Self {
        operations(&mut self.document).for_each(with);
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
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::DELETE);
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

    /// What the API is of these routes, and what was added.
    pub(crate) fn described(self) -> (OpenApi, Vec<(Method, String)>) {
        (self.document, self.list)
    }
}

/// All operations of a document.
pub(crate) fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| {
        let methods =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        methods.into_iter().flatten()
    })
}

/// Says how an operation can fail, where it does not say more of that itself.
pub(crate) fn may_fail(operation: &mut Operation, failures: &[(&str, &str)]) {
    for (status, words) in failures {
        let said = operation.responses.responses.entry((*status).to_owned());
        said.or_insert_with(|| Response::new(*words).into());
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
