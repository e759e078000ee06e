//! Who asks for a page.

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::request::Parts;
use lodge_domain::{
    Result,
    accounts::{Account, Role, SessionDigest, SignedIn},
    passwords::Password,
};

use crate::{accounts::app::AccountsApp, error::Problem, pages::go_to, request::Asked, session};

/// A person who is signed in with an account, their session, and what they ask. A browser without such a session is
/// sent to the sign-in page, and from there to the account.
pub(super) struct Me {
    pub(super) asked: Asked,
    pub(super) session: SessionDigest,
    pub(super) signed_in: SignedIn,
}

impl Me {
    pub(super) fn account(&self) -> &Account {
        &self.signed_in.account
    }

    /// The current password as it was typed; `None` for an account that has none.
    pub(super) fn current_password(&self, typed: String) -> Result<Option<Password>> {
        let has_password = self.account().has_password;
        has_password.then(|| Password::parse("current", typed)).transpose()
    }

    /// `None` for a browser without the session of an account.
    async fn of(parts: &mut Parts, app: &AccountsApp) -> Result<Option<Self>, Problem> {
        let asked = Asked::from_request_parts(parts, app).await?;
        let Some(session) = session::of_account(&asked) else { return Ok(None) };
        let signed_in = session::account(&app.site, session).await?;
        Ok(signed_in.map(|signed_in| Self { asked, session, signed_in }))
    }
}

impl FromRequestParts<AccountsApp> for Me {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AccountsApp) -> Result<Self, Response> {
        let me = Self::of(parts, app).await.map_err(IntoResponse::into_response)?;
        me.ok_or_else(|| go_to("/login?next=/account").into_response())
    }
}

/// The same for a member of the staff, who is sent to the list of accounts. What they may do is decided where it is
/// done.
pub(super) struct Staff(pub(super) Me);

impl FromRequestParts<AccountsApp> for Staff {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AccountsApp) -> Result<Self, Response> {
        let me = Me::of(parts, app).await.map_err(IntoResponse::into_response)?;
        let me = me.ok_or_else(|| go_to("/login?next=/admin/accounts").into_response())?;
        let is_staff = me.account().check_role(Role::Moderator).map_err(Problem::from);
        is_staff.map(|()| Self(me)).map_err(IntoResponse::into_response)
    }
}
