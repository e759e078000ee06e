//! Ends sessions.

use axum::extract::State;
use lodge_domain::{Error, accounts::SessionId};

use super::{
    account::again,
    me::{Me, PasswordForm},
};
use crate::{
    accounts::app::AccountsApp,
    error::HttpResult,
    pages::redirect_to,
    request::{CredentialRateLimit, FormBody, PathParam},
    sign_in,
};

/// The id of the password field.
const CURRENT: &str = "sessions-current";

/// `POST /account/sessions/{id}`.
pub(super) async fn end(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<PasswordForm>,
) -> HttpResult {
    let id = segment.parse().map(SessionId);
    let id = id.map_err(|_| Error::not_found("there is no such session"))?;
    if id == me.signed_in.session.id {
        app.accounts.sign_out(me.session).await?;
        return sign_in::signed_out(&me.asked, "/login");
    }
    match ended(&app, &me, id, form).await {
        Ok(()) => me.with_new_token(&app, redirect_to("/account?ended")?).await,
        // A second click on the same button.
        Err(Error::NotFound(_)) => redirect_to("/account?ended"),
        Err(error) => again(&app, &me, &me.reauthentication_errors(error, CURRENT)?).await,
    }
}

async fn ended(app: &AccountsApp, me: &Me, id: SessionId, form: PasswordForm) -> Result<(), Error> {
    let current = me.current_password(form.current)?;
    app.accounts.end_session(me.session, id, current, me.asked.client.limited_by()).await
}

/// `POST /account/sessions`: ends all sessions, this one included.
pub(super) async fn end_all(
    State(app): State<AccountsApp>,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<PasswordForm>,
) -> HttpResult {
    match all_ended(&app, &me, form).await {
        Ok(()) => sign_in::signed_out(&me.asked, "/login"),
        Err(error) => again(&app, &me, &me.reauthentication_errors(error, CURRENT)?).await,
    }
}

async fn all_ended(app: &AccountsApp, me: &Me, form: PasswordForm) -> Result<(), Error> {
    let current = me.current_password(form.current)?;
    app.accounts.sign_out_everywhere(me.session, current, me.asked.client.limited_by()).await
}
