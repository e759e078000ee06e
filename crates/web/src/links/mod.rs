//! Short links over HTTP: redirects, the seeds' `PUT`, the JSON API, and the pages.

mod api;
mod app;
mod dto;
mod openapi;
mod pages;
mod put;
mod qr;
pub mod redirect;

use http::Method;
use utoipa_axum::routes;

pub(crate) use self::app::LinksApp;
use crate::routes::Routes;

/// Whether a path is of a link, its pages or none that there is: a short is a path of one part.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with("/links/") || !path.trim_start_matches('/').contains('/')
}

/// The app's routes.
pub(crate) fn routes() -> Routes<LinksApp> {
    Routes::with_document(openapi::document())
        .api(routes!(put::put))
        .api(routes!(redirect::follow))
        .on(Method::POST, "/{short}", redirect::follow_with_password)
        .merge(api::routes())
        .merge(pages::routes())
}
