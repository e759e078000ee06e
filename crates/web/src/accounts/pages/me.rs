//! Extractors of the signed-in account.

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header, request::Parts};
use lodge_domain::{
    Result,
    accounts::{Account, Role, SessionDigest, SignedIn},
    passwords::Password,
};
use serde::Deserialize;

use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::{errors::FormErrors, redirect_to},
    request::RequestContext,
    session,
};

/// The signed-in account with its session and request context. A browser without a session is redirected to the
/// sign-in page, and from there to the account page.
pub(super) struct Me {
    pub(super) asked: RequestContext,
    pub(super) session: SessionDigest,
    pub(super) signed_in: SignedIn,
}

/// A form that asks for the current password, if the account has one.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PasswordForm {
    pub(super) current: String,
}

impl Me {
    pub(super) fn account(&self) -> &Account {
        &self.signed_in.account
    }

    /// Parses the typed current password; `None` for an account without a password.
    pub(super) fn current_password(&self, typed: String) -> Result<Option<Password>> {
        let has_password = self.account().has_password;
        has_password.then(|| Password::parse("current", typed)).transpose()
    }

    /// Returns the errors of a form that asks for the current password in `field`. A malformed password counts as a wrong
    /// one. Server errors are returned as they are.
    pub(super) fn reauthentication_errors(
        &self,
        refusal: impl Into<Problem>,
        field: &'static str,
    ) -> Result<FormErrors, Problem> {
        let errors = FormErrors::of_refusal(refusal, field)?;
        let is_wrong = matches!(errors.status(), StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN);
        let is_wrong = self.account().has_password && is_wrong;
        Ok(if is_wrong { errors.only(field, "this is not your current password") } else { errors })
    }

    /// Gives the browser a new token for its session, after a request that asked for the current password. The request is
    /// done if this fails.
    pub(super) async fn with_new_token(
        &self,
        app: &AccountsApp,
        mut response: Response,
    ) -> HttpResult {
        if !self.account().has_password {
            return Ok(response);
        }
        match app.accounts.renew_token(self.session).await {
            Ok(fresh) => {
                for cookie in session::begin_account(&self.asked, &fresh)? {
                    response.headers_mut().append(header::SET_COOKIE, cookie);
                }
            }
            Err(error) => tracing::warn!(%error, "the token of a session cannot be replaced"),
        }
        Ok(response)
    }

    /// Returns `None` without a valid account session.
    async fn of(parts: &mut Parts, app: &AccountsApp) -> Result<Option<Self>, Problem> {
        let asked = RequestContext::from_request_parts(parts, app).await?;
        let Some(session) = session::account_session(&asked) else { return Ok(None) };
        let signed_in = session::account(&app.site, session).await?;
        Ok(signed_in.map(|signed_in| Self { asked, session, signed_in }))
    }
}

impl FromRequestParts<AccountsApp> for Me {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AccountsApp) -> Result<Self, Response> {
        let me = Self::of(parts, app).await.map_err(IntoResponse::into_response)?;
        me.ok_or_else(|| redirect_to("/login?next=/account").into_response())
    }
}

/// The same for moderators and administrators, with a redirect to the list of accounts. The service authorizes each
/// action.
pub(super) struct Staff(pub(super) Me);

impl FromRequestParts<AccountsApp> for Staff {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AccountsApp) -> Result<Self, Response> {
        let me = Me::of(parts, app).await.map_err(IntoResponse::into_response)?;
        let me = me.ok_or_else(|| redirect_to("/login?next=/admin/accounts").into_response())?;
        let is_staff = me.account().check_role(Role::Moderator).map_err(Problem::from);
        is_staff.map(|()| Self(me)).map_err(IntoResponse::into_response)
    }
}

/// The same for administrators, with a redirect to the list of security events.
pub(super) struct AdminOnly(pub(super) Me);

impl FromRequestParts<AccountsApp> for AdminOnly {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AccountsApp) -> Result<Self, Response> {
        let me = Me::of(parts, app).await.map_err(IntoResponse::into_response)?;
        let me = me.ok_or_else(|| redirect_to("/login?next=/admin/events").into_response())?;
        let is_admin = me.account().check_role(Role::Admin).map_err(Problem::from);
        is_admin.map(|()| Self(me)).map_err(IntoResponse::into_response)
    }
}
