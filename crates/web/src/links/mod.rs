//! Short links over HTTP: redirects, the seeds' `PUT`, the JSON API, and the pages.

mod api;
mod app;
mod dto;
mod pages;
mod personal_data;
mod put;
mod qr;
pub(crate) mod redirect;

use http::Method;
use lodge_domain::{accounts::Role, links::Short};
use utoipa_axum::routes;

pub(crate) use self::{app::LinksApp, pages::admin, personal_data::LinksData};
use crate::{
    admin::sections::{Entry, Section},
    pages::Menu,
    routes::Routes,
};

/// The app's entries in the site's menu.
pub(crate) const MENU: Menu =
    Menu { app: "links", entries: &[("/new", "New link"), ("/links", "My links")] };

/// The app's title in the API documentation.
const APP: &str = "Short links";

/// The pages of links on the overview for staff.
pub(crate) const ADMIN: Section = Section {
    title: "Links",
    entries: &[Entry {
        path: "/admin/keys",
        title: "API keys",
        about: "Keys with which programs create links.",
        least: Role::Admin,
    }],
};

/// Whether a path belongs to links, even if no route matches it: a page of links, or a possible short.
pub(crate) fn owns(path: &str) -> bool {
    let short = path.trim_start_matches('/').trim_end_matches('+');
    matches!(path, "/" | "/links" | "/new")
        || path.starts_with("/links/")
        || Short::parse(short).is_ok()
}

/// The app's routes.
pub(crate) fn routes() -> Routes<LinksApp> {
    Routes::default()
        .tag(APP, "links", "Create, find, edit and delete links.")
        .tag(APP, "redirects", "Follow links, count their clicks, show them as QR codes.")
        .api(routes!(put::put))
        .api(routes!(redirect::follow))
        .on(Method::POST, "/{short}", redirect::follow_with_password)
        .merge(api::routes())
        .merge(pages::routes())
}
