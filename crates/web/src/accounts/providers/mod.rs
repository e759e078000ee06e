//! Sign-in with an OpenID Connect provider, in a browser.

pub(super) mod api;
mod callback;
mod choose_username;
mod cookie;
pub(super) mod outcome;
pub(super) mod redirect;

use http::Method;

use super::app::AccountsApp;
use crate::routes::Routes;

pub(super) fn routes() -> Routes<AccountsApp> {
    let routes = api::routes().merge(choose_username::routes());
    let routes = routes.on(Method::GET, "/login/by/{provider}", redirect::sign_in);
    routes.on(Method::GET, "/login/by/{provider}/callback", callback::callback)
}
