//! The pages of links. Handlers parse the request, call the service, and render a template.

mod access;
mod chart;
mod create;
mod form;
mod keys;
mod link_cookie;
mod list;
mod manage;
mod notice;
mod statistics;
mod visitor;

#[cfg(test)]
mod samples;

use http::Method;

pub(crate) use self::visitor::{password, preview};
use super::app::LinksApp;
use crate::routes::Routes;

pub(super) fn routes() -> Routes<LinksApp> {
    Routes::default()
        .on(Method::GET, "/", create::form)
        .on(Method::GET, "/new", create::form)
        .on(Method::POST, "/links", create::create)
        .on(Method::GET, "/links", list::list)
        .on(Method::GET, "/links/{short}", manage::show)
        .on(Method::POST, "/links/{short}", manage::edit)
        .on(Method::POST, "/links/{short}/delete", manage::delete)
        .on(Method::POST, "/links/{short}/open", manage::open)
        .on(Method::GET, "/links/{short}/stats", statistics::show)
        .on(Method::GET, "/links/{short}/qr", visitor::print)
}

/// The page of API keys, on sites with accounts.
pub(crate) fn admin() -> Routes<LinksApp> {
    Routes::default().on(Method::GET, "/admin/keys", keys::show).on(
        Method::POST,
        "/admin/keys",
        keys::change,
    )
}
