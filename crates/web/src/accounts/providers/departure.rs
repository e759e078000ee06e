//! Off to a provider.

use axum::extract::State;
use lodge_domain::{
    Error, Result,
    accounts::{Departure, JOURNEY_LIFETIME, NO_PROVIDER, ProviderName},
};

use super::cookie::{AWAY, TO_LINK, keep};
use crate::{
    accounts::app::AccountsApp,
    edge::{cross_site, limits},
    error::HttpResult,
    pages::go_to,
    request::{Asked, Parameters, Segment},
    sign_in::{self, Next},
};

/// The longest path to go on to, in bytes.
const NEXT_MAX: usize = 500;

/// `GET /login/by/{provider}`: off to the provider. Another site's page sends nobody there, or it could have
/// them signed in here without their asking.
pub(super) async fn sign_in(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    Parameters(Next { next }): Parameters<Next>,
    asked: Asked,
) -> HttpResult {
    if cross_site::is_from_elsewhere(&asked.headers) {
        return go_to("/login");
    }
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let provider = named(&name)?;
    let back = callback_of(&app, &asked, &provider)?;
    let Departure { url, kept } = app.accounts.depart(provider, back, kept_next(&next)).await?;
    away(&asked, &url, &kept)
}

/// Where somebody comes back to from a provider: no place that only their `Host` header names.
pub(crate) fn callback_of(
    app: &AccountsApp,
    asked: &Asked,
    provider: &ProviderName,
) -> Result<String> {
    if app.site.public_url.is_none() && !asked.is_asked_here() {
        return Err(Error::internal("public_url is not set; signing in by a provider needs it"));
    }
    Ok(format!("{}/login/by/{provider}/callback", asked.base_url))
}

/// Sends the browser of somebody who wants to link to a provider.
pub(crate) fn away_to_link(asked: &Asked, departure: &Departure) -> HttpResult {
    let Departure { url, kept } = departure;
    away(asked, url, &format!("{TO_LINK}{kept}"))
}

/// Sends the browser to a provider, with what it must bring back in a cookie.
fn away(asked: &Asked, url: &str, kept: &str) -> HttpResult {
    let mut response = go_to(url)?;
    keep(asked, &mut response, &AWAY, (kept, JOURNEY_LIFETIME.as_secs()))?;
    Ok(response)
}

/// What of it is kept on the way: a cookie has not room for everything.
fn kept_next(next: &str) -> String {
    let next = sign_in::own_path(next).filter(|next| next.len() <= NEXT_MAX);
    next.unwrap_or_default().to_owned()
}

/// The provider of that name, if there can be one.
pub(crate) fn named(name: &str) -> Result<ProviderName> {
    ProviderName::parse(name).map_err(|_| NO_PROVIDER)
}
