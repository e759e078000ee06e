//! The message board over HTTP: the JSON API, the event streams and the pages.

mod api;
mod app;
mod caller;
mod dto;
mod event_stream;
mod events;
mod extract;
mod feed;
mod follow;
pub(crate) mod hooks_api;
mod hub;
mod messages;
mod page_event;
mod pages;
mod personal_data;
mod presence;
mod reader;
#[cfg(test)]
mod samples;
mod searches;
mod shared;
mod staff;
mod submission;

use lodge_domain::accounts::Role;
use utoipa_axum::routes;

use self::app::BODY_BYTES_MAX;
pub use self::hooks_api::hook_body;
pub(crate) use self::{app::BoardApp, hooks_api::HooksApp, pages::start};
use crate::{
    admin::sections::{Entry, Section},
    pages::Menu,
    routes::{Routes, may_fail},
};

/// The app's entries in the site's menu.
pub(crate) const MENU: Menu = Menu { app: "board", entries: &[("/board", "Board")] };

/// The app's title in the API documentation.
const APP: &str = "Message board";

/// The app's pages on the overview for staff.
pub(crate) const ADMIN: Section = Section {
    title: "Board",
    entries: &[
        Entry {
            path: "/board/-/channels",
            title: "Channels",
            about: "Create, edit and archive channels.",
            least: Role::Moderator,
        },
        Entry {
            path: "/board/-/reports",
            title: "Reports",
            about: "Messages that members have reported.",
            least: Role::Moderator,
        },
        Entry {
            path: "/board/-/hidden",
            title: "Hidden messages",
            about: "Messages that moderators have hidden.",
            least: Role::Moderator,
        },
        Entry {
            path: "/board/-/bans",
            title: "Bans",
            about: "Accounts that cannot use the board.",
            least: Role::Moderator,
        },
        Entry {
            path: "/admin/bots",
            title: "Bots",
            about: "Keys with which programs post.",
            least: Role::Admin,
        },
        Entry {
            path: "/admin/webhooks",
            title: "Webhooks",
            about: "URLs that receive the events of a channel.",
            least: Role::Admin,
        },
    ],
};

/// The errors that every operation of the board can return.
const FAILURES: [(&str, &str); 2] = [
    ("401", "Unknown, expired or revoked token or key"),
    ("403", "The caller is banned from the board"),
];

/// Whether a path belongs to the board, even if no route matches it.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix("/board").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The app's routes.
pub(crate) fn routes() -> Routes<BoardApp> {
    Routes::default()
        .tag(APP, "channels", "List, create and edit channels; see who is there.")
        .tag(APP, "messages", "Read, post, edit, search, react to and report messages.")
        .tag(APP, "events", "Everything that happens in a channel, live or later.")
        .tag(APP, "moderation", "Hide messages, close reports, ban accounts.")
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
        .describe(|operation| may_fail(operation, &FAILURES))
}
