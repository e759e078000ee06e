//! The message board over HTTP: the JSON API, and what happens in channels, told while it does.

mod api;
mod app;
mod dto;
mod events;
mod feed;
mod follow;
pub(crate) mod hooks_api;
mod hub;
mod kept;
mod letter;
mod listener;
mod messages;
mod openapi;
mod pages;
mod reader;
mod rooms;
mod searches;
mod shared;
mod shown;
mod staff;
mod visitor;

use http::Method;

use self::app::BODY_BYTES_MAX;
pub use self::hooks_api::hook_body;
pub(crate) use self::{
    app::BoardApp, hooks_api::HooksApp, kept::kept, openapi::document, pages::start,
};
use crate::routes::Routes;

/// Whether a path belongs to the board, whatever is or is not there.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix("/board").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The app's routes.
pub(crate) fn routes() -> Routes<BoardApp> {
    const MESSAGE: &str = "/api/board/{channel}/messages/{id}";
    const REACTION: &str = "/api/board/{channel}/messages/{id}/reactions/{reaction}";
    const HIDDEN: &str = "/api/board/{channel}/messages/{id}/hidden";
    pages::routes()
        .on(Method::GET, "/api/board", api::channels)
        .on_within(BODY_BYTES_MAX, Method::POST, "/api/board", staff::create_channel)
        .on_within(BODY_BYTES_MAX, Method::PATCH, "/api/board/{channel}", staff::edit_channel)
        .on(Method::GET, "/api/board/{channel}/messages", messages::list)
        .on(Method::POST, "/api/board/{channel}/messages", messages::post)
        .on(Method::GET, "/board/-/pictures/{id}/{size}", messages::picture)
        .on(Method::GET, MESSAGE, messages::get)
        .on_within(BODY_BYTES_MAX, Method::PATCH, MESSAGE, messages::edit)
        .on(Method::DELETE, MESSAGE, messages::delete)
        .on(Method::PUT, REACTION, messages::react)
        .on(Method::DELETE, REACTION, messages::unreact)
        .on(Method::PUT, HIDDEN, staff::hide)
        .on(Method::DELETE, HIDDEN, staff::show)
        .on_within(
            BODY_BYTES_MAX,
            Method::POST,
            "/api/board/{channel}/messages/{id}/reports",
            messages::report,
        )
        .on(Method::GET, "/api/board/{channel}/events", events::page)
        .on(Method::GET, "/api/board/{channel}/stream", events::stream)
        .on(Method::GET, "/api/board/{channel}/people", api::people)
        .on_within(BODY_BYTES_MAX, Method::PUT, "/api/board/{channel}/read", api::note_read)
        .on(Method::GET, "/api/board/-/search", api::search)
        .on(Method::GET, "/api/board/-/unread", api::unread)
        .on(Method::GET, "/api/board/-/reports", staff::reports)
        .on(Method::DELETE, "/api/board/-/reports/{id}", staff::settle)
        .on(Method::GET, "/api/board/-/hidden", staff::hidden)
        .on(Method::GET, "/api/board/-/bans", staff::bans)
        .on(Method::PUT, "/api/board/-/bans/{username}", staff::ban)
        .on(Method::DELETE, "/api/board/-/bans/{username}", staff::unban)
}
