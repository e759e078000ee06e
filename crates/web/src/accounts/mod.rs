//! Accounts over HTTP: the JSON API and the pages.

mod api;
mod app;
mod dto;
mod export;
mod openapi;
mod pages;
mod picture;
mod providers;

pub(crate) use self::{app::AccountsApp, picture::may_come as may_bring_picture};
use crate::routes::Routes;

/// The app's routes.
pub(crate) fn routes() -> Routes<AccountsApp> {
    Routes::with_document(openapi::document())
        .merge(api::routes())
        .merge(pages::routes())
        .merge(picture::routes())
        .merge(providers::routes())
}

/// The start page, where no other app has one.
pub(crate) fn start() -> Routes<AccountsApp> {
    pages::start()
}
