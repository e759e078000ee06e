//! What comes of signing in by a provider: somebody is let in, or told why not.

use askama::Template;
use axum::response::IntoResponse as _;
use http::StatusCode;
use lodge_domain::accounts::FreshSession;

use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::{self, words},
    request::Asked,
    session, sign_in,
};

/// Where newcomers go, and people who have changed how they sign in.
pub(super) const ACCOUNT: &str = "/account";

/// Somebody is in, and the session that their browser had before is not left behind. Where it cannot be ended
/// they are in all the same: what they brought from the provider does not count twice.
pub(super) async fn let_in(
    app: &AccountsApp,
    asked: &Asked,
    fresh: &FreshSession,
    next: &str,
    home: &str,
) -> HttpResult {
    if let Err(error) = sign_in::leave(&app.site, asked).await {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| error.to_string());
        tracing::warn!(cause, "a session that a browser had before is not ended");
    }
    sign_in::signed_in(next, home, session::begin_account(asked, fresh)?)
}

#[derive(Template)]
#[template(path = "accounts/not_signed_in.html")]
struct NotSignedInPage {
    why: String,
}

#[derive(Template)]
#[template(path = "accounts/not_linked.html")]
struct NotLinkedPage {
    why: String,
}

/// The page for whoever was refused, and may try again; what is no decision about them is a problem like
/// any other.
pub(super) fn refusal(app: &AccountsApp, problem: Problem) -> HttpResult {
    told(app, problem, |why| NotSignedInPage { why })
}

/// The same for whoever is signed in and wanted to link.
pub(crate) fn not_linked(app: &AccountsApp, problem: Problem) -> HttpResult {
    told(app, problem, |why| NotLinkedPage { why })
}

fn told<T: Template>(
    app: &AccountsApp,
    problem: Problem,
    page: impl FnOnce(String) -> T,
) -> HttpResult {
    let status = problem.status;
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Ok(problem.into_response());
    }
    pages::page(&app.site, status, &page(words::sentence(&problem.detail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_of_a_refusal_is_sound_whatever_is_on_it() {
        let why = || check::EVIL.to_owned();
        check::rendered(&NotSignedInPage { why: why() });
        check::rendered(&NotLinkedPage { why: why() });
    }
}
