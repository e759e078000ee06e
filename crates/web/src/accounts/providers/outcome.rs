//! The outcomes of a sign-in with a provider: a session, or an error page.

use askama::Template;
use axum::response::IntoResponse as _;
use http::StatusCode;
use lodge_domain::accounts::FreshSession;

use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::{self, words},
    request::RequestContext,
    session, sign_in,
};

/// The page after a sign-up or a change of providers.
pub(super) const ACCOUNT: &str = "/account";

/// Signs in and ends the previous session of the browser. A failure to end it does not stop the sign-in: the response
/// of the provider is single-use.
pub(super) async fn complete_sign_in(
    app: &AccountsApp,
    asked: &RequestContext,
    fresh: &FreshSession,
    next: &str,
    home: &str,
) -> HttpResult {
    if let Err(error) = sign_in::end_previous_session(&app.site, asked).await {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| error.to_string());
        tracing::warn!(cause, "cannot end the previous session of a browser");
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

/// Shows why a sign-in was refused. Server errors and rate limits get the usual error page.
pub(super) fn refusal(app: &AccountsApp, problem: Problem) -> HttpResult {
    told(app, problem, |why| NotSignedInPage { why })
}

/// The same for a signed-in account that wanted to link a provider.
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
    fn the_page_of_a_refusal_is_sound_with_any_content() {
        let why = || check::HOSTILE_INPUT.to_owned();
        check::rendered(&NotSignedInPage { why: why() });
        check::rendered(&NotLinkedPage { why: why() });
    }
}
