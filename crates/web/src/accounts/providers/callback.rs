//! The callback of a sign-in provider.

use axum::extract::State;
use lodge_domain::accounts::{LoginCallback, LoginOutcome};
use serde::Deserialize;

use super::{
    choose_username,
    cookie::{self, OVER, STATE_COOKIE, TO_LINK, keep},
    outcome::{ACCOUNT, complete_sign_in, not_linked, refusal},
    redirect::named,
};
use crate::{
    accounts::app::AccountsApp,
    edge::limits,
    error::HttpResult,
    pages::redirect_to,
    request::{PathParam, QueryParams, RequestContext},
    session, sign_in,
};

/// The query of a callback; unknown parameters are ignored, since some providers add more.
#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// `GET /login/by/{provider}/callback`: completes a sign-in. In any case the state cookie is deleted.
pub(super) async fn callback(
    State(app): State<AccountsApp>,
    PathParam(name): PathParam,
    QueryParams(brought): QueryParams<CallbackQuery>,
    asked: RequestContext,
) -> HttpResult {
    limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    let (to_link, kept) = kept(&asked);
    let mut response = match complete_login(&app, &asked, &name, kept, brought).await {
        Ok(response) => response,
        Err(problem) if to_link && is_signed_in(&app, &asked).await => not_linked(&app, problem)?,
        Err(problem) => refusal(&app, problem)?,
    };
    keep(&asked, &mut response, &STATE_COOKIE, OVER)?;
    Ok(response)
}

/// Returns whether the flow links a provider, and the state in the cookie. The flag is not signed: it only selects the
/// text of the error page.
fn kept(asked: &RequestContext) -> (bool, String) {
    let kept = cookie::kept(asked, &STATE_COOKIE).unwrap_or_default();
    let to_link = kept.strip_prefix(TO_LINK);
    (to_link.is_some(), to_link.unwrap_or(kept).to_owned())
}

async fn is_signed_in(app: &AccountsApp, asked: &RequestContext) -> bool {
    let Some(session) = session::account_session(asked) else { return false };
    matches!(session::account(&app.site, session).await, Ok(Some(_)))
}

async fn complete_login(
    app: &AccountsApp,
    asked: &RequestContext,
    name: &str,
    kept: String,
    brought: CallbackQuery,
) -> HttpResult {
    let CallbackQuery { state, code, error, iss: issuer } = brought;
    let callback = LoginCallback { provider: named(name)?, kept, state, code, error, issuer };
    let session = session::account_session(asked);
    match app.accounts.complete_login(callback, asked.agent().to_owned(), session).await? {
        LoginOutcome::SignedIn { fresh, next } => {
            complete_sign_in(app, asked, &fresh, &next, sign_in::home(&app.site)).await
        }
        LoginOutcome::SignUp { ticket, suggested, next } => {
            choose_username::invite(asked, &ticket, suggested.as_ref(), &next)
        }
        LoginOutcome::Linked => redirect_to(ACCOUNT),
    }
}
