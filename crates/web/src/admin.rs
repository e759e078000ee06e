//! What the pages under `/admin` share: access, the overview, pages of keys, and the set-up of the first admin.

pub(crate) mod keys;
pub(crate) mod overview;
pub(crate) mod secret;
pub(crate) mod sections;
pub(crate) mod setup;

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    response::{IntoResponse, Response},
};
use http::request::Parts;
use lodge_domain::accounts::{Account, Role};

use crate::{
    context::SiteContext, error::Problem, pages::redirect_to, request::RequestContext, session,
};

/// The signed-in account, if it is a moderator or an admin. A browser without a session is redirected to the sign-in
/// page, and from there back to the page.
pub(crate) struct Staff(pub(crate) Account);

/// The same for an admin.
pub(crate) struct Admin(pub(crate) Account);

impl<S: Send + Sync> FromRequestParts<S> for Staff
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        signed_in(parts, state, Role::Moderator).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        signed_in(parts, state, Role::Admin).await.map(Self)
    }
}

async fn signed_in<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    least: Role,
) -> Result<Account, Response>
where
    Arc<SiteContext>: FromRef<S>,
{
    let me = account(parts, state, least).await.map_err(IntoResponse::into_response)?;
    let sign_in = || redirect_to(&format!("/login?next={}", parts.uri.path())).into_response();
    me.ok_or_else(sign_in)
}

/// Returns the account of the browser's session, which must have at least this role; `None` without a session.
async fn account<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    least: Role,
) -> Result<Option<Account>, Problem>
where
    Arc<SiteContext>: FromRef<S>,
{
    let asked = RequestContext::from_request_parts(parts, state).await?;
    let Some(session) = session::account_session(&asked) else { return Ok(None) };
    let me = session::account(&Arc::<SiteContext>::from_ref(state), session).await?;
    let Some(account) = me.map(|me| me.account) else { return Ok(None) };
    account.check_role(least)?;
    Ok(Some(account))
}
