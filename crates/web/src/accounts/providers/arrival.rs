//! The callback of a sign-in provider.

use axum::extract::State;
use lodge_domain::accounts::{Arrival, Welcome};
use serde::Deserialize;

use super::{
    cookie::{self, AWAY, OVER, TO_LINK, keep},
    departure::named,
    newcomer,
    outcome::{ACCOUNT, let_in, not_linked, refusal},
};
use crate::{
    accounts::app::AccountsApp,
    edge::limits,
    error::HttpResult,
    pages::go_to,
    request::{Asked, Parameters, Segment},
    session, sign_in,
};

/// The query of a callback; unknown parameters are ignored, since some providers add more.
#[derive(Deserialize)]
pub(super) struct Brought {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// `GET /login/by/{provider}/callback`: completes a sign-in. In any case the state cookie is deleted.
pub(super) async fn callback(
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

/// Returns whether the flow links a provider, and the state in the cookie. The flag is not signed: it only selects the
/// text of the error page.
fn kept(asked: &Asked) -> (bool, String) {
    let kept = cookie::kept(asked, &AWAY).unwrap_or_default();
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
            let_in(app, asked, &fresh, &next, sign_in::home(&app.site)).await
        }
        Welcome::Newcomer { ticket, suggested, next } => {
            newcomer::invite(asked, &ticket, suggested.as_ref(), &next)
        }
        Welcome::Linked => go_to(ACCOUNT),
    }
}
