//! Sign-in with an OpenID Connect provider, in a browser.

pub(super) mod api;
mod arrival;
mod cookie;
pub(super) mod departure;
mod newcomer;
pub(super) mod outcome;

use http::Method;

use super::app::AccountsApp;
use crate::routes::Routes;

pub(super) fn routes() -> Routes<AccountsApp> {
    let routes = api::routes().merge(newcomer::routes());
    let routes = routes.on(Method::GET, "/login/by/{provider}", departure::sign_in);
    routes.on(Method::GET, "/login/by/{provider}/callback", arrival::callback)
}
