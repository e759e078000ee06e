//! The pages of the board.

mod bans;
mod bots;
mod channel;
mod channels;
mod hidden;
mod live;
pub(super) mod message;
mod message_page;
mod reports;
#[cfg(test)]
mod samples;
mod search;
pub(super) mod signed_in;
pub(super) mod webhooks;
mod words;

use http::Method;

use super::app::{BODY_BYTES_MAX, BoardApp};
use crate::routes::Routes;

/// Routes of the pages.
pub(super) fn routes() -> Routes<BoardApp> {
    const ONE: &str = "/board/{channel}/m/{message}";
    Routes::default()
        .on(Method::GET, "/board", channel::lobby)
        .on(Method::GET, "/board/{channel}", channel::show)
        .on(Method::POST, "/board/{channel}", channel::post)
        .on(Method::GET, "/board/{channel}/live", live::stream)
        .on(Method::GET, "/board/{channel}/since", live::since)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/{channel}/read", live::note_read)
        .on(Method::GET, ONE, message_page::show)
        .on_within(BODY_BYTES_MAX, Method::POST, ONE, message_page::change)
        .on(Method::GET, "/board/{channel}/search", search::show)
        .on(Method::GET, "/board/-/unread", live::unread)
        .on(Method::GET, "/board/-/names", live::names)
        .on(Method::GET, "/board/-/channels", channels::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/channels", channels::save)
        .on(Method::GET, "/board/-/reports", reports::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/reports", reports::settle)
        .on(Method::GET, "/board/-/hidden", hidden::show)
        .on(Method::GET, "/board/-/bans", bans::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/bans", bans::change)
        .on(Method::GET, "/admin/bots", bots::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/admin/bots", bots::change)
}

/// The route of the start page, for sites on which no other app has one.
pub(crate) fn start() -> Routes<BoardApp> {
    Routes::default().on(Method::GET, "/", channel::lobby)
}
