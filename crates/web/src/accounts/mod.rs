//! Accounts over HTTP: the JSON API.

mod api;
mod app;
mod dto;
mod openapi;

pub(crate) use self::{app::AccountsApp, openapi::document};
use crate::routes::Routes;

/// The app's routes.
pub(crate) fn routes() -> Routes<AccountsApp> {
    api::routes()
}
