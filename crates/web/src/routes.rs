//! A router that lists its routes and describes their API.

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
        Components, OpenApi, OpenApiBuilder, PathItem, Response, extensions::ExtensionsBuilder,
        path::Operation, tag::TagBuilder,
    },
};
use utoipa_axum::router::UtoipaMethodRouter;

/// The extension of a tag with the title of its app.
pub(crate) const TAG_APP: &str = "x-app";

/// Routes with their methods, in order of addition; `S` is the state of the handlers.
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
    /// Adds a tag, which groups the operations of an app on one resource, with its description.
    pub(crate) fn tag(mut self, app: &str, name: &str, about: &str) -> Self {
        let app = ExtensionsBuilder::new().add(TAG_APP, app).build();
        let tag = TagBuilder::new().name(name).description(Some(about)).extensions(Some(app));
        self.document.tags.get_or_insert_default().push(tag.build());
        self
    }

    /// Adds a schema that no operation refers to.
    pub(crate) fn schema<T: ToSchema>(mut self) -> Self {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        let components = self.document.components.get_or_insert_with(Components::new);
        components.schemas.extend(schemas);
        self
    }

    /// Adds API routes, as the `#[utoipa::path]` of their handlers declares them.
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

    /// The same with a body limit of `bytes_max`.
    pub(crate) fn api_within(
        self,
        bytes_max: usize,
        (schemas, paths, handlers): UtoipaMethodRouter<S>,
    ) -> Self {
        self.api((schemas, paths, handlers.layer(DefaultBodyLimit::max(bytes_max))))
    }

    /// Applies `with` to every operation of the document.
    pub(crate) fn describe(mut self, with: impl Fn(&mut Operation)) -> Self {
        operations(&mut self.document).for_each(with);
        self
    }

    /// Returns the `OpenAPI` document of these routes.
    pub(crate) fn document(&self) -> OpenApi {
        self.document.clone()
    }

    /// Adds a route; GET serves HEAD, too.
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

    /// The same with a body limit of `bytes_max`.
    pub(crate) fn on_within<T: 'static>(
        self,
        bytes_max: usize,
        method: Method,
        path: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        self.on(method, path, handler.layer(DefaultBodyLimit::max(bytes_max)))
    }

    /// Adds all routes of `other`.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.list.extend(other.list);
        self.document.merge(other.document);
        self
    }

    /// Provides the state of the handlers.
    pub(crate) fn with(self, state: S) -> Routes {
        Routes { router: self.router.with_state(state), list: self.list, document: self.document }
    }

    /// Returns the router.
    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }

    /// Returns the `OpenAPI` document and the list of routes.
    pub(crate) fn described(self) -> (OpenApi, Vec<(Method, String)>) {
        (self.document, self.list)
    }
}

/// Iterates over all operations of a document.
pub(crate) fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| {
        let methods =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        methods.into_iter().flatten()
    })
}

/// Adds failure responses to an operation, unless it describes the same status itself.
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
