//! What every page has, and the pages that belong to no app.

mod assets;
pub(crate) mod chart;
#[cfg(test)]
pub(crate) mod check;
pub(crate) mod errors;
pub(crate) mod forms;
mod navigation;
mod problem;
mod sign_in;
pub(crate) mod words;

use std::sync::Arc;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use lodge_domain::Error;

pub(crate) use self::{
    assets::url as asset_url,
    navigation::{Navigation, rendered},
    problem::{Subject, problem},
    sign_in::{Next, home, leave, let_in, own_path, signed_in, signed_out},
};
use crate::{Site, error::HttpResult, routes::Routes};

/// Routes of files, which need nothing.
pub(crate) fn routes() -> Routes {
    Routes::default()
        .on(Method::GET, "/assets/{file}", assets::file)
        .on(Method::GET, "/favicon.ico", assets::favicon)
        .on(Method::GET, "/robots.txt", robots)
}

/// Routes of signing in, which all apps share.
pub(crate) fn sign_in_routes() -> Routes<Arc<Site>> {
    Routes::default()
        .on(Method::GET, "/login", sign_in::form)
        .on(Method::POST, "/login", sign_in::begin)
        .on(Method::POST, "/logout", sign_in::end)
}

/// A template as an answer.
pub(crate) fn page(
    site: &Site,
    status: StatusCode,
    template: &impl Template,
) -> Result<Response, Error> {
    let html = rendered(template, site.navigation)?;
    Ok((status, Html(html)).into_response())
}

/// Sends the browser on after a form.
pub(crate) fn go_to(path: &str) -> HttpResult {
    let location = HeaderValue::try_from(path).map_err(Error::internal)?;
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// Short links are for everybody, also for search engines; what manages them is not.
async fn robots() -> Response {
    let text = "User-agent: *\nDisallow: /api/links\nDisallow: /api/bulk\nDisallow: /links\nDisallow: /login\nDisallow: /account\nDisallow: /admin\n";
    (
        [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CACHE_CONTROL, "public, max-age=86400"),
        ],
        text,
    )
        .into_response()
}
