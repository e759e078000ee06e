//! The signed-in account of a page.

use http::{HeaderMap, header};
use lodge_domain::{Error, board::Actor};

use crate::{
    board::{app::BoardApp, visitor::Visitor},
    error::{HttpResult, Problem},
    pages::go_to,
    request::Asked,
    session,
};

const SIGNED_OUT: Error = Error::unauthenticated("you are signed out; sign in and try again");

/// Returns the signed-in account; `None` for a visitor or a session of an API key.
async fn visitor(app: &BoardApp, asked: &Asked) -> Result<Option<Visitor>, Problem> {
    let Some(session) = session::of_account(asked) else { return Ok(None) };
    let Some(me) = session::account(&app.site, session).await? else { return Ok(None) };
    Ok(Some(app.signed_in(&me, session).await?))
}

/// Returns the signed-in account; [`Error::Unauthenticated`] without one.
pub(crate) async fn reader(app: &BoardApp, asked: &Asked) -> Result<Visitor, Problem> {
    let visitor = visitor(app, asked).await?;
    visitor.ok_or(Error::unauthenticated("you are signed out").into())
}

pub(super) async fn me(app: &BoardApp, asked: &Asked) -> Result<Option<Actor>, Problem> {
    Ok(visitor(app, asked).await?.map(|visitor| visitor.actor))
}

/// Returns the signed-in account; [`Error::Forbidden`] unless it is a moderator or an admin.
pub(super) async fn staff(app: &BoardApp, asked: &Asked) -> Result<Option<Actor>, Problem> {
    let me = me(app, asked).await?;
    me.iter().try_for_each(Actor::check_staff)?;
    Ok(me)
}

/// Redirects to the sign-in page, which leads back to `path`; a script gets 401.
pub(super) fn sign_in_first(asked: &Asked, path: &str) -> HttpResult {
    if wants_json(&asked.headers) {
        return Err(SIGNED_OUT.into());
    }
    go_to(&format!("/login?next={path}"))
}

pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}
