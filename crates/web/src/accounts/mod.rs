//! Accounts over HTTP: the JSON API and the pages.

mod api;
mod app;
mod dto;
mod export;
mod pages;
mod picture;
mod providers;

pub(crate) use self::{app::AccountsApp, pages::start, picture::may_come as may_bring_picture};
use crate::{pages::Menu, routes::Routes};

/// The app has no menu entries: the header leads to the account of the caller.
pub(crate) const MENU: Menu = Menu { app: "accounts", entries: &[] };

/// The routes of accounts.
pub(crate) fn routes() -> Routes<AccountsApp> {
    Routes::default()
        .tag("accounts", "Accounts: sign-up, sign-in, sessions, profile and personal data.")
        .merge(api::routes())
        .merge(pages::routes())
        .merge(picture::routes())
        .merge(providers::routes())
}
