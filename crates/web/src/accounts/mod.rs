//! Accounts over HTTP: the JSON API and the pages.

mod api;
mod app;
mod dto;
mod export;
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

/// The menu entries of accounts.
pub(crate) const MENU: Menu = Menu { app: "accounts", entries: &[("/account", "Account")] };

/// The pages of accounts on the overview for staff.
pub(crate) const ADMIN: Section = Section {
    title: "Accounts",
    entries: &[Entry {
        path: "/admin/accounts",
        title: "Accounts",
        about: "Search, roles, bans and one-time codes.",
        least: Role::Moderator,
    }],
};

/// The routes of accounts.
pub(crate) fn routes() -> Routes<AccountsApp> {
    Routes::default()
        .tag("accounts", "Accounts: sign-up, sign-in, sessions, profile and personal data.")
        .merge(api::routes())
        .merge(pages::routes())
        .merge(picture::routes())
        .merge(providers::routes())
}
