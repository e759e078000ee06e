//! Accounts over HTTP: the JSON API and the pages.

mod api;
mod app;
mod dto;
mod export;
mod openapi;
mod pages;
pub(crate) mod picture;
mod providers;

pub(crate) use self::{
    app::AccountsApp, export::PLACES as EXPORTS, openapi::document, picture::path as picture_path,
};
use crate::routes::Routes;

/// The app's routes.
pub(crate) fn routes() -> Routes<AccountsApp> {
    api::routes().merge(pages::routes()).merge(picture::routes()).merge(providers::routes())
}

/// The start page, where no other app has one.
pub(crate) fn start() -> Routes<AccountsApp> {
    pages::start()
}
