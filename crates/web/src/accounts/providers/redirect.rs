//! The redirect to a sign-in provider.

use axum::extract::State;
use lodge_domain::{
    Error, Result,
    accounts::{AUTHORIZATION_LIFETIME, LoginRedirect, NO_PROVIDER, ProviderName},
};
use serde::Deserialize;

use super::cookie::{STATE_COOKIE, TO_LINK, keep};
use crate::{
    accounts::app::AccountsApp,
    edge::{cross_site, limits},
    error::HttpResult,
    pages::redirect_to,
    request::{PathParam, QueryParams, RequestContext},
    sign_in,
};

/// The longest `next` path stored in the cookie, in bytes.
const NEXT_MAX: usize = 500;

/// The query of a sign-in.
#[derive(Deserialize)]
pub(super) struct LoginQuery {
    #[serde(default)]
    next: String,
    /// Present if the provider must authenticate the user again.
    reauthenticate: Option<String>,
}

/// `GET /login/by/{provider}`: redirects to the provider. Requests from other sites are refused, or they could sign in
/// a visitor without consent.
pub(super) async fn sign_in(
    State(app): State<AccountsApp>,
    PathParam(name): PathParam,
    QueryParams(LoginQuery { next, reauthenticate }): QueryParams<LoginQuery>,
    asked: RequestContext,
) -> HttpResult {
    if cross_site::is_from_elsewhere(&asked.headers) {
        return redirect_to("/login");
    }
    limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    let provider = named(&name)?;
    let back = callback_of(&app, &asked, &provider)?;
    let LoginRedirect { url, kept } = app
        .accounts
        .begin_login(provider, back, kept_next(&next), reauthenticate.is_some())
        .await?;
    away(&asked, &url, &kept)
}

/// Returns the callback URL. It is never derived from a `Host` header, except on loopback.
pub(crate) fn callback_of(
    app: &AccountsApp,
    asked: &RequestContext,
    provider: &ProviderName,
) -> Result<String> {
    if app.site.public_url.is_none() && !asked.names_loopback_host() {
        return Err(Error::internal("public_url is not set; sign-in with a provider needs it"));
    }
    Ok(format!("{}/login/by/{provider}/callback", asked.base_url))
}

/// Redirects to a provider to link it.
pub(crate) fn redirect_to_link(asked: &RequestContext, redirect: &LoginRedirect) -> HttpResult {
    let LoginRedirect { url, kept } = redirect;
    away(asked, url, &format!("{TO_LINK}{kept}"))
}

/// Redirects to a provider, and sets the state cookie.
fn away(asked: &RequestContext, url: &str, kept: &str) -> HttpResult {
    let mut response = redirect_to(url)?;
    keep(asked, &mut response, &STATE_COOKIE, (kept, AUTHORIZATION_LIFETIME.as_secs()))?;
    Ok(response)
}

/// Returns `next` if it is a path of this site and fits in a cookie, else nothing.
fn kept_next(next: &str) -> String {
    let next = sign_in::own_path(next).filter(|next| next.len() <= NEXT_MAX);
    next.unwrap_or_default().to_owned()
}

/// Parses a provider name; a malformed one is not found.
pub(crate) fn named(name: &str) -> Result<ProviderName> {
    ProviderName::parse(name).map_err(|_| NO_PROVIDER)
}
