//! Signing in by a provider, with a browser.

pub(super) mod api;
mod newcomer;

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode, header};
use lodge_domain::{
    Error, Result,
    accounts::{
        Arrival, Departure, FreshSession, JOURNEY_LIFETIME, NO_PROVIDER, ProviderName, Welcome,
    },
};
use serde::Deserialize;

use super::app::AccountsApp;
use crate::{
    cookies::{self, Cookie},
    edge::{cross_site, limits},
    error::{HttpResult, Problem},
    pages::{self, Next, go_to, words},
    request::{Asked, Parameters, Segment},
    routes::Routes,
    session,
};

/// Where newcomers go, and people who have changed how they sign in.
const ACCOUNT: &str = "/account";

/// The longest path to go on to, in bytes.
const NEXT_MAX: usize = 500;

pub(super) fn routes() -> Routes<AccountsApp> {
    let routes = api::routes().merge(newcomer::routes());
    let routes = routes.on(Method::GET, "/login/by/{provider}", sign_in);
    routes.on(Method::GET, "/login/by/{provider}/callback", callback)
}

/// `GET /login/by/{provider}`: off to the provider. Another site's page sends nobody there, or it could have
/// them signed in here without their asking.
async fn sign_in(
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
pub(super) fn callback_of(
    app: &AccountsApp,
    asked: &Asked,
    provider: &ProviderName,
) -> Result<String> {
    if app.site.settings.public_url.is_none() && !asked.is_asked_here() {
        return Err(Error::internal("public_url is not set; signing in by a provider needs it"));
    }
    Ok(format!("{}/login/by/{provider}/callback", asked.base_url))
}

/// Sends the browser of somebody who wants to link to a provider.
pub(super) fn away_to_link(asked: &Asked, departure: &Departure) -> HttpResult {
    let Departure { url, kept } = departure;
    away(asked, url, &format!("{TO_LINK}{kept}"))
}

/// Sends the browser to a provider, with what it must bring back in a cookie.
fn away(asked: &Asked, url: &str, kept: &str) -> HttpResult {
    let mut response = go_to(url)?;
    keep(asked, &mut response, &AWAY, (kept, JOURNEY_LIFETIME.as_secs()))?;
    Ok(response)
}

/// What a provider sends somebody back with. Some add more.
#[derive(Deserialize)]
struct Brought {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// `GET /login/by/{provider}/callback`: back from the provider. Whatever comes of it, what the browser kept is
/// used up.
async fn callback(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    Parameters(brought): Parameters<Brought>,
    asked: Asked,
) -> HttpResult {
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let (to_link, kept) = kept(&asked);
    let mut response = match arrive(&app, &asked, &name, kept, brought).await {
        Ok(response) => response,
        Err(problem) if to_link && is_signed_in(&app, &asked).await => not_linked(&app, problem)?,
        Err(problem) => refusal(&app, problem)?,
    };
    keep(&asked, &mut response, &AWAY, OVER)?;
    Ok(response)
}

/// What the browser kept, and whether somebody wanted to link. That much of it nobody has signed: it
/// chooses between words alone.
fn kept(asked: &Asked) -> (bool, String) {
    let kept = AWAY.read(asked).unwrap_or_default();
    let to_link = kept.strip_prefix(TO_LINK);
    (to_link.is_some(), to_link.unwrap_or(kept).to_owned())
}

async fn is_signed_in(app: &AccountsApp, asked: &Asked) -> bool {
    let Some(session) = session::of_account(asked) else { return false };
    matches!(session::account(&app.site, session).await, Ok(Some(_)))
}

async fn arrive(
    app: &AccountsApp,
    asked: &Asked,
    name: &str,
    kept: String,
    brought: Brought,
) -> HttpResult {
    let Brought { state, code, error, iss: issuer } = brought;
    let arrival = Arrival { provider: named(name)?, kept, state, code, error, issuer };
    let session = session::of_account(asked);
    match app.accounts.arrive(arrival, asked.agent().to_owned(), session).await? {
        Welcome::SignedIn { fresh, next } => {
            let_in(app, asked, &fresh, &next, pages::home(&app.site)).await
        }
        Welcome::Newcomer { ticket, suggested, next } => {
            newcomer::invite(asked, &ticket, suggested.as_ref(), &next)
        }
        Welcome::Linked => go_to(ACCOUNT),
    }
}

/// Somebody is in, and the session that their browser had before is not left behind. Where it cannot be ended
/// they are in all the same: what they brought from the provider does not count twice.
async fn let_in(
    app: &AccountsApp,
    asked: &Asked,
    fresh: &FreshSession,
    next: &str,
    home: &str,
) -> HttpResult {
    if let Err(error) = pages::leave(&app.site, asked).await {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| error.to_string());
        tracing::warn!(cause, "a session that a browser had before is not ended");
    }
    pages::signed_in(next, home, session::begin_account(asked, fresh)?)
}

/// What of it is kept on the way: a cookie has not room for everything.
fn kept_next(next: &str) -> String {
    let next = pages::own_path(next).filter(|next| next.len() <= NEXT_MAX);
    next.unwrap_or_default().to_owned()
}

#[derive(Template)]
#[template(path = "accounts/not_signed_in.html")]
struct NotSignedInPage<'a> {
    why: &'a str,
}

#[derive(Template)]
#[template(path = "accounts/not_linked.html")]
struct NotLinkedPage<'a> {
    why: &'a str,
}

/// The page for whoever was refused, and may try again; what is no decision about them is a problem like
/// any other.
fn refusal(app: &AccountsApp, problem: Problem) -> HttpResult {
    if !is_decision(&problem) {
        return Ok(problem.into_response());
    }
    let why = words::sentence(&problem.detail);
    Ok(pages::page(&app.site, problem.status, &NotSignedInPage { why: &why })?)
}

/// The same for whoever is signed in and wanted to link.
pub(super) fn not_linked(app: &AccountsApp, problem: Problem) -> HttpResult {
    if !is_decision(&problem) {
        return Ok(problem.into_response());
    }
    let why = words::sentence(&problem.detail);
    Ok(pages::page(&app.site, problem.status, &NotLinkedPage { why: &why })?)
}

fn is_decision(problem: &Problem) -> bool {
    !problem.status.is_server_error() && problem.status != StatusCode::TOO_MANY_REQUESTS
}

/// The provider of that name, if there can be one.
pub(super) fn named(name: &str) -> Result<ProviderName> {
    ProviderName::parse(name).map_err(|_| NO_PROVIDER)
}

/// A cookie, or its end; `Lax`, because the way back begins on the provider's pages.
fn keep(
    asked: &Asked,
    response: &mut Response,
    name: &CookieName,
    (value, max_age_seconds): (&str, i64),
) -> Result<()> {
    let secure = asked.over_tls();
    let name = name.of(secure);
    let cookie = Cookie { name, value, path: "/", same_site: "Lax", max_age_seconds };
    response.headers_mut().append(header::SET_COOKIE, cookie.header(secure)?);
    Ok(())
}

/// What a cookie is called over TLS, where the prefix keeps neighbours from setting it, and elsewhere.
struct CookieName(&'static str, &'static str);

impl CookieName {
    fn of(&self, secure: bool) -> &'static str {
        if secure { self.0 } else { self.1 }
    }

    /// What the browser keeps under it.
    fn read<'a>(&self, asked: &'a Asked) -> Option<&'a str> {
        cookies::read(&asked.headers, self.of(asked.over_tls()))
    }
}

/// Kept while somebody is at a provider.
const AWAY: CookieName = CookieName("__Host-lodge_provider", "lodge_provider");

/// What stands before it where somebody wants to link; no provider's name begins so.
const TO_LINK: &str = "~";

/// A cookie's end.
const OVER: (&str, i64) = ("", 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_of_a_refusal_is_sound_whatever_is_on_it() {
        let why = "<b>Why</b>.";
        check::sound(&pages::rendered(&NotSignedInPage { why }, check::EVERYTHING).unwrap());
        check::sound(&pages::rendered(&NotLinkedPage { why }, check::EVERYTHING).unwrap());
    }
}
