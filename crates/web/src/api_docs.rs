//! The API's description: as `OpenAPI` for programs, and as a page for people, made from the same
//! document.

mod outline;

use std::sync::{Arc, LazyLock};

use askama::Template;
use axum::{
    Json,
    extract::State,
    response::{Html, IntoResponse, Response},
};
use bytes::Bytes;
use http::Method;
use lodge_domain::Error;
use moka::sync::Cache;
use utoipa::openapi::{
    Components, InfoBuilder, OpenApi, OpenApiBuilder, ServerBuilder,
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use self::outline::{Group, groups, prose};
use crate::{Site, error::HttpResult, links, request::Asked, routes::Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().on(Method::GET, "/api/openapi.json", openapi).on(
        Method::GET,
        "/api/docs",
        docs,
    )
}

/// The document, but for the address of this deployment.
static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(|| {
    let info = InfoBuilder::new()
        .title("Lodge")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("The HTTP API of this Lodge."));
    let mut document = OpenApiBuilder::new().info(info.build()).build();
    document.merge(links::document());
    let components = document.components.get_or_insert_with(Components::new);
    components
        .add_security_scheme("api_key", bearer("An API key: lodge_…, made with lodge admin key."));
    components.add_security_scheme(
        "manage_key",
        bearer("The key to one link: manage_…, told when the link was made."),
    );
    document
});

fn bearer(description: &str) -> SecurityScheme {
    SecurityScheme::Http(
        HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description)).build(),
    )
}

/// `GET /api/openapi.json`.
async fn openapi(State(_): State<Arc<Site>>, asked: Asked) -> Response {
    let mut document = DOCUMENT.clone();
    document.servers = Some(vec![ServerBuilder::new().url(asked.base_url).build()]);
    Json(document).into_response()
}

#[derive(Template)]
#[template(path = "api_docs.html")]
struct DocsPage<'a> {
    base_url: &'a str,
    groups: &'a [Group],
}

/// The page as it was made for each address that this deployment is asked by: it never changes, so
/// it is made once.
pub(crate) type DocsPages = Cache<String, Bytes>;

/// Addresses for which the page is kept.
pub(crate) const DOCS_PAGES_MAX: u64 = 16;

/// `GET /api/docs`.
async fn docs(State(site): State<Arc<Site>>, asked: Asked) -> HttpResult {
    let base_url = asked.base_url;
    if let Some(html) = site.docs_pages.get(&base_url) {
        return Ok(Html(html).into_response());
    }
    let document = serde_json::to_value(&*DOCUMENT).map_err(Error::internal)?;
    let groups = groups(&document, &base_url);
    let page = DocsPage { base_url: &base_url, groups: &groups };
    let html = Bytes::from(page.render().map_err(Error::internal)?);
    site.docs_pages.insert(base_url, html.clone());
    Ok(Html(html).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_tells_of_every_operation() {
        let document = serde_json::to_value(&*DOCUMENT).unwrap();
        let groups = groups(&document, "https://go.example");
        let html = DocsPage { base_url: "https://go.example", groups: &groups }.render().unwrap();
        check::sound(&html);
        let paths = document["paths"].as_object().unwrap();
        let operations: usize =
            paths.values().map(|methods| methods.as_object().unwrap().len()).sum();
        assert_eq!(html.matches("<article").count(), operations);
        assert!(html.contains("https://go.example/api/links") && html.contains("PUT"));
    }

    #[test]
    fn every_route_of_the_api_is_described() {
        let document = serde_json::to_value(&*DOCUMENT).unwrap();
        let undescribed = ["/api/docs", "/api/openapi.json"];
        for (method, path) in crate::Front::routes()
            .into_iter()
            .filter(|(_, path)| path.starts_with("/api/") && !undescribed.contains(path))
        {
            let method = method.as_str().to_lowercase();
            assert!(document["paths"][path][&method].is_object(), "{method} {path}");
        }
    }
}
