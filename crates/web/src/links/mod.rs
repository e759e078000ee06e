//! Short links over HTTP: redirects, the seeds' `PUT`, the JSON API, and the pages.

mod api;
mod app;
mod dto;
mod pages;
mod put;
mod qr;
pub(crate) mod redirect;

use http::Method;
use utoipa_axum::routes;

pub(crate) use self::app::LinksApp;
use crate::{pages::Menu, routes::Routes};

/// Where the app leads people.
pub(crate) const MENU: Menu =
    Menu { app: "links", entries: &[("/new", "New link"), ("/links", "My links")] };

/// Whether a path is of a link, its pages or none that there is: a short is a path of one part.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with("/links/") || !path.trim_start_matches('/').contains('/')
}

/// The app's routes.
pub(crate) fn routes() -> Routes<LinksApp> {
    Routes::default()
        .tag("follow", "Making and following a link in one line, without JSON.")
        .tag("links", "Everything else about links, in JSON.")
        .api(routes!(put::put))
        .api(routes!(redirect::follow))
        .on(Method::POST, "/{short}", redirect::follow_with_password)
        .merge(api::routes())
        .merge(pages::routes())
}
