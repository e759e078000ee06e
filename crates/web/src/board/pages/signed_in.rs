//! The signed-in account of a page.

use http::{HeaderMap, header};
use lodge_domain::{Error, board::Actor};

use crate::{
    board::{app::BoardApp, caller::BoardCaller},
    error::{HttpResult, Problem},
    pages::redirect_to,
    request::RequestContext,
    session,
};

const SIGNED_OUT: Error = Error::unauthenticated("you are signed out; sign in and try again");

/// Returns the signed-in account; `None` for a visitor or a session of an API key.
async fn optional_caller(
    app: &BoardApp,
    asked: &RequestContext,
) -> Result<Option<BoardCaller>, Problem> {
    let Some(session) = session::account_session(asked) else { return Ok(None) };
    let Some(me) = session::account(&app.site, session).await? else { return Ok(None) };
    Ok(Some(app.admit_account(&me, session).await?))
}

/// Returns the signed-in account; [`Error::Unauthenticated`] without one.
pub(crate) async fn require_caller(
    app: &BoardApp,
    asked: &RequestContext,
) -> Result<BoardCaller, Problem> {
    let visitor = optional_caller(app, asked).await?;
    visitor.ok_or(Error::unauthenticated("you are signed out").into())
}

pub(super) async fn signed_in_actor(
    app: &BoardApp,
    asked: &RequestContext,
) -> Result<Option<Actor>, Problem> {
    Ok(optional_caller(app, asked).await?.map(|visitor| visitor.actor))
}

/// Returns the signed-in account; [`Error::Forbidden`] unless it is a moderator or an admin.
pub(super) async fn signed_in_staff(
    app: &BoardApp,
    asked: &RequestContext,
) -> Result<Option<Actor>, Problem> {
    let me = signed_in_actor(app, asked).await?;
    me.iter().try_for_each(Actor::check_staff)?;
    Ok(me)
}

/// Redirects to the sign-in page, which leads back to `path`; a script gets 401.
pub(super) fn require_sign_in(asked: &RequestContext, path: &str) -> HttpResult {
    if wants_json(&asked.headers) {
        return Err(SIGNED_OUT.into());
    }
    redirect_to(&format!("/login?next={path}"))
}

pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}
