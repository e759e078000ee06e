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
        Arrival, Departure, FreshSession, NO_PROVIDER, ProviderName, SessionDigest, Welcome,
    },
};
use serde::Deserialize;

use super::app::AccountsApp;
use crate::{
    cookies::{self, Cookie},
    edge::limits,
    error::{HttpResult, Problem},
    pages::{self, go_to, words},
    request::{Asked, Parameters, Segment},
    routes::Routes,
    session,
};

/// Where people go who are signed in, or have changed how they sign in.
const ACCOUNT: &str = "/account";

/// How long a browser keeps what it needs on its way back.
const AWAY_SECONDS: i64 = 10 * 60;

pub(super) fn routes() -> Routes<AccountsApp> {
    api::routes()
        .merge(newcomer::routes())
        .on(Method::GET, "/login/{provider}", sign_in)
        .on(Method::GET, "/login/{provider}/callback", callback)
        .on(Method::POST, "/account/providers/{provider}", link)
        .on(Method::POST, "/account/providers/{provider}/unlink", unlink)
}

/// `GET /login/{provider}`: off to the provider.
async fn sign_in(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    asked: Asked,
) -> HttpResult {
    depart(&app, &asked, &name, None).await
}

/// `POST /account/providers/{provider}`: off to the provider, to sign in by it from then on. The page with
/// the form needs the policy for forms that lead away.
async fn link(State(app): State<AccountsApp>, Segment(name): Segment, asked: Asked) -> HttpResult {
    let session = session_of(&app, &asked)?;
    depart(&app, &asked, &name, Some(session)).await
}

/// `POST /account/providers/{provider}/unlink`.
async fn unlink(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    asked: Asked,
) -> HttpResult {
    app.accounts.unlink(session_of(&app, &asked)?, provider(&name)?).await?;
    go_to(ACCOUNT)
}

/// Sends the browser to a provider, with what it must bring back in a cookie.
async fn depart(
    app: &AccountsApp,
    asked: &Asked,
    name: &str,
    linking: Option<SessionDigest>,
) -> HttpResult {
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let provider = provider(name)?;
    let redirect_uri = format!("{}/login/{provider}/callback", asked.base_url);
    let Departure { url, kept } = app.accounts.depart(provider, redirect_uri, linking).await?;
    let mut response = go_to(&url)?;
    keep(app, &mut response, &AWAY, (&kept, AWAY_SECONDS))?;
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

/// `GET /login/{provider}/callback`: back from the provider. Whatever comes of it, what the browser kept is
/// used up.
async fn callback(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    Parameters(brought): Parameters<Brought>,
    asked: Asked,
) -> HttpResult {
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let mut response = match arrive(&app, &asked, &name, brought).await {
        Ok(response) => response,
        Err(problem) => refusal(&app, problem)?,
    };
    keep(&app, &mut response, &AWAY, OVER)?;
    Ok(response)
}

async fn arrive(app: &AccountsApp, asked: &Asked, name: &str, brought: Brought) -> HttpResult {
    let Brought { state, code, error, iss: issuer } = brought;
    let kept = AWAY.read(app, asked).unwrap_or_default().to_owned();
    let arrival = Arrival { provider: provider(name)?, kept, state, code, error, issuer };
    let session = session::of_account(&app.site, asked);
    match app.accounts.arrive(arrival, asked.agent().to_owned(), session).await? {
        Welcome::SignedIn(fresh) => let_in(app, asked, &fresh).await,
        Welcome::Newcomer { ticket, suggested } => {
            newcomer::invite(app, &ticket, suggested.as_ref())
        }
        Welcome::Linked => go_to(ACCOUNT),
    }
}

/// Somebody is in, and the session that their browser had before is not left behind.
async fn let_in(app: &AccountsApp, asked: &Asked, fresh: &FreshSession) -> HttpResult {
    pages::leave(&app.site, asked).await?;
    let mut response = go_to(ACCOUNT)?;
    let cookie = session::begin_account(&app.site, fresh, asked.at)?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

#[derive(Template)]
#[template(path = "accounts/not_signed_in.html")]
struct NotSignedInPage<'a> {
    why: &'a str,
}

/// The page for whoever was refused, and may try again; what is no decision about them is a problem like
/// any other.
fn refusal(app: &AccountsApp, problem: Problem) -> HttpResult {
    if problem.status.is_server_error() || problem.status == StatusCode::TOO_MANY_REQUESTS {
        return Ok(problem.into_response());
    }
    let why = words::sentence(&problem.detail);
    Ok(pages::page(&app.site, problem.status, &NotSignedInPage { why: &why })?)
}

/// The session in which somebody asks; whether it opens anything the accounts tier finds.
fn session_of(app: &AccountsApp, asked: &Asked) -> Result<SessionDigest> {
    session::of_account(&app.site, asked).ok_or(Error::unauthenticated("sign in first"))
}

fn provider(name: &str) -> Result<ProviderName> {
    ProviderName::parse(name).map_err(|_| NO_PROVIDER)
}

/// A cookie, or its end; `Lax`, because the way back begins on the provider's pages.
fn keep(
    app: &AccountsApp,
    response: &mut Response,
    name: &CookieName,
    (value, max_age_seconds): (&str, i64),
) -> Result<()> {
    let secure = app.site.over_tls();
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
    fn read<'a>(&self, app: &AccountsApp, asked: &'a Asked) -> Option<&'a str> {
        cookies::read(&asked.headers, self.of(app.site.over_tls()))
    }
}

/// Kept while somebody is at a provider.
const AWAY: CookieName = CookieName("__Host-lodge_provider", "lodge_provider");

/// A cookie's end.
const OVER: (&str, i64) = ("", 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_of_a_refusal_is_sound_whatever_is_on_it() {
        let page = NotSignedInPage { why: "<b>Why</b>." };
        check::sound(&pages::rendered(&page, check::EVERYTHING).unwrap());
    }
}
