//! The first sign-in with a provider: choosing a username for a new account.

use askama::Template;
use axum::extract::State;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, StatusCode};
use lodge_domain::{
    Error,
    accounts::{ProviderSignUp, TICKET_LIFETIME, TicketDigest, Username},
};
use serde::Deserialize;

use super::{
    cookie::{self, OVER, keep},
    outcome::{ACCOUNT, complete_sign_in, refusal},
};
use crate::{
    accounts::app::AccountsApp,
    body::FullBody,
    cookies::CookieName,
    edge::limits,
    error::HttpResult,
    pages::{self, redirect_to, words},
    request::{self, RequestContext},
    routes::Routes,
};

/// The path of the form.
const PATH: &str = "/signup/name";

pub(super) fn routes() -> Routes<AccountsApp> {
    Routes::default().on(Method::GET, PATH, form).on(Method::POST, PATH, make)
}

#[derive(Template)]
#[template(path = "accounts/choose_name.html")]
struct ChooseNamePage<'a> {
    username: &'a str,
    wrong: Option<&'a str>,
}

/// The content of the sign-up cookie.
struct SignUpCookie {
    ticket: TicketDigest,
    /// The initial username in the form.
    suggested: String,
    /// The path to go to afterwards.
    next: String,
}

/// Redirects to the form, and sets the sign-up cookie.
pub(super) fn invite(
    asked: &RequestContext,
    ticket: &str,
    suggested: Option<&Username>,
    next: &str,
) -> HttpResult {
    let suggested = suggested.map_or("", Username::as_str);
    let [suggested, next] = [suggested, next].map(|text| URL_SAFE_NO_PAD.encode(text));
    let mut response = redirect_to(PATH)?;
    keep(
        asked,
        &mut response,
        &SIGN_UP_COOKIE,
        (&format!("{ticket}.{suggested}.{next}"), TICKET_LIFETIME.as_secs()),
    )?;
    Ok(response)
}

/// `GET /signup/name`.
async fn form(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    let Some(kept) = kept(&asked) else { return refusal(&app, TOO_LATE.into()) };
    let page = ChooseNamePage { username: &kept.suggested, wrong: None };
    pages::page(&app.site, StatusCode::OK, &page)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameForm {
    username: String,
}

/// `POST /signup/name`.
async fn make(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    limits::take(app.sign_ups.as_ref(), asked.client)?;
    let NameForm { username: typed } = request::form(&body)?;
    let Some(SignUpCookie { ticket, next, .. }) = kept(&asked) else {
        return refusal(&app, TOO_LATE.into());
    };
    let again = |status, why: &str| {
        let wrong = words::sentence(why);
        pages::page(&app.site, status, &ChooseNamePage { username: &typed, wrong: Some(&wrong) })
    };
    let username = match Username::parse(&typed) {
        Ok(username) => username,
        Err(Error::Invalid { reason, .. }) => {
            return again(StatusCode::BAD_REQUEST, &format!("the username {reason}"));
        }
        Err(error) => return Err(error.into()),
    };
    let sign_up = ProviderSignUp { ticket, username, agent: asked.agent().to_owned() };
    let mut response = match app.accounts.sign_up_with_provider(sign_up).await {
        Ok(fresh) => complete_sign_in(&app, &asked, &fresh, &next, ACCOUNT).await?,
        Err(Error::Conflict(why)) => return again(StatusCode::CONFLICT, &why),
        Err(Error::Invalid { reason, .. }) => {
            return again(StatusCode::BAD_REQUEST, &format!("the username {reason}"));
        }
        Err(error @ (Error::Gone(_) | Error::Forbidden(_))) => refusal(&app, error.into())?,
        Err(error) => return Err(error.into()),
    };
    keep(&asked, &mut response, &SIGN_UP_COOKIE, OVER)?;
    Ok(response)
}

fn kept(asked: &RequestContext) -> Option<SignUpCookie> {
    let parts: Vec<&str> = cookie::kept(asked, &SIGN_UP_COOKIE)?.split('.').collect();
    let [ticket, suggested, next] = parts[..] else { return None };
    let decoded = |text| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok();
    let (suggested, next) = (decoded(suggested)?, decoded(next)?);
    Some(SignUpCookie { ticket: TicketDigest::of(ticket), suggested, next })
}

/// The cookie of a pending sign-up.
const SIGN_UP_COOKIE: CookieName = CookieName("__Host-lodge_sign_up", "lodge_sign_up");

const TOO_LATE: Error = Error::gone(
    "your sign-in with the provider has expired or happened in another browser; start again",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_is_sound_with_any_content() {
        for wrong in [None, Some("<i>Taken</i>.")] {
            check::rendered(&ChooseNamePage { username: check::HOSTILE_INPUT, wrong });
        }
    }
}
