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

use utoipa_axum::routes;

use self::app::BODY_BYTES_MAX;
pub use self::hooks_api::hook_body;
pub(crate) use self::{app::BoardApp, hooks_api::HooksApp, kept::kept, pages::start};
use crate::routes::Routes;

/// Whether a path belongs to the board, whatever is or is not there.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix("/board").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The app's routes.
pub(crate) fn routes() -> Routes<BoardApp> {
    Routes::with_document(openapi::document())
        .api(routes!(api::channels))
        .api_within(BODY_BYTES_MAX, routes!(staff::create_channel))
        .api_within(BODY_BYTES_MAX, routes!(staff::edit_channel))
        .api(routes!(messages::list))
        .api(routes!(messages::post))
        .api(routes!(messages::picture))
        .api(routes!(messages::get))
        .api_within(BODY_BYTES_MAX, routes!(messages::edit))
        .api(routes!(messages::delete))
        .api(routes!(messages::react))
        .api(routes!(messages::unreact))
        .api(routes!(staff::hide))
        .api(routes!(staff::show))
        .api_within(BODY_BYTES_MAX, routes!(messages::report))
        .api(routes!(events::page))
        .api(routes!(events::stream))
        .api(routes!(api::people))
        .api_within(BODY_BYTES_MAX, routes!(api::note_read))
        .api(routes!(api::search))
        .api(routes!(api::unread))
        .api(routes!(staff::reports))
        .api(routes!(staff::settle))
        .api(routes!(staff::hidden))
        .api(routes!(staff::bans))
        .api(routes!(staff::ban))
        .api(routes!(staff::unban))
        .merge(pages::routes())
        .describe(&openapi::Failures)
}
