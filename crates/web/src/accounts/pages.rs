//! The pages of accounts. Handlers parse the request, call the service, and render a template.

mod account;
mod admin_account;
mod admin_accounts;
mod admin_events;
mod check;
mod delete;
mod device;
mod linking;
mod me;
mod picture;
mod profile;
mod reset;
mod sessions;
mod setup;
mod sign_up;

#[cfg(test)]
mod samples;

use http::Method;

use super::app::AccountsApp;
use crate::{error::HttpResult, pages::redirect_to, routes::Routes};

pub(super) fn routes() -> Routes<AccountsApp> {
    FORMS_OF_THE_ACCOUNT_PAGE
        .into_iter()
        .fold(Routes::default(), |routes, form| routes.on(Method::GET, form, to_account_page))
        .on(Method::GET, "/signup", sign_up::form)
        .on(Method::POST, "/signup", sign_up::make)
        .on(Method::GET, "/login/reset", reset::form)
        .on(Method::POST, "/login/reset", reset::set)
        .on(Method::GET, "/account", account::show)
        .on(Method::POST, "/account", profile::edit)
        .on(Method::POST, "/account/check", check::check)
        .on(Method::POST, "/account/password", profile::change_password)
        .on(Method::POST, "/account/picture", picture::set)
        .on(Method::POST, "/account/picture/delete", picture::take_away)
        .on(Method::POST, "/account/providers/{provider}", linking::link)
        .on(Method::POST, "/account/unlink", linking::unlink)
        .on(Method::POST, "/account/sessions", sessions::end_all)
        .on(Method::POST, "/account/sessions/{id}", sessions::end)
        .on(Method::GET, "/account/export", account::export)
        .on(Method::POST, "/account/delete", delete::delete)
        .on(Method::GET, "/admin/setup", setup::form)
        .on(Method::POST, "/admin/setup", setup::make)
        .on(Method::GET, "/admin/accounts", admin_accounts::list)
        .on(Method::GET, "/admin/events", admin_events::list)
        .on(Method::GET, "/admin/accounts/{username}", admin_account::show)
        .on(Method::POST, "/admin/accounts/{username}", admin_account::change)
}

/// The forms of the account page that show it again with an error, at their own address: a browser that loads it once
/// more gets the page.
const FORMS_OF_THE_ACCOUNT_PAGE: [&str; 7] = [
    "/account/password",
    "/account/picture",
    "/account/providers/{provider}",
    "/account/unlink",
    "/account/sessions",
    "/account/sessions/{id}",
    "/account/delete",
];

async fn to_account_page() -> HttpResult {
    redirect_to("/account")
}

/// The start page, if no other app provides one: redirects to the account page.
pub(crate) fn start() -> Routes<AccountsApp> {
    Routes::default().on(Method::GET, "/", to_account_page)
}
