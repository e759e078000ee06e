//! Accounts over HTTP: the JSON API and the pages.

mod api;
mod app;
mod dto;
mod export;
mod new_password;
mod pages;
mod picture;
mod providers;

pub(crate) use self::{app::AccountsApp, pages::start, picture::may_come as may_bring_picture};
use lodge_domain::accounts::Role;

use crate::{
    admin::sections::{Entry, Section},
    pages::Menu,
    routes::Routes,
};

/// The app has no menu entries: the header leads to the account of the caller.
pub(crate) const MENU: Menu = Menu { app: "accounts", entries: &[] };

/// The app's title in the API documentation.
const APP: &str = "Accounts";

/// The pages of accounts on the overview for staff.
pub(crate) const ADMIN: Section = Section {
    title: "Accounts",
    entries: &[
        Entry {
            path: "/admin/accounts",
            title: "Accounts",
            about: "Search, roles, bans and one-time codes.",
            least: Role::Moderator,
        },
        Entry {
            path: "/admin/events",
            title: "Security events",
            about: "Sign-ins, refusals, and acts of moderators and admins.",
            least: Role::Admin,
        },
    ],
};

/// The routes of accounts.
pub(crate) fn routes() -> Routes<AccountsApp> {
    Routes::default()
        .tag(APP, "accounts", "Create accounts, see public profiles, reset passwords.")
        .tag(APP, "sessions", "Sign in, sign out, see where you are signed in.")
        .tag(APP, "profile", "Your own account: names, picture, password, data.")
        .tag(APP, "providers", "Sign-in by OpenID Connect and OAuth 2 providers.")
        .merge(api::routes())
        .merge(pages::routes())
        .merge(picture::routes())
        .merge(providers::routes())
}
