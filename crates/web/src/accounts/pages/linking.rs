//! Linking and unlinking sign-in providers.

use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{LoginRedirect, ProviderName},
};
use serde::Deserialize;

use super::{
    account::{again, field_of},
    me::{Me, PasswordForm},
};
use crate::{
    accounts::{
        app::AccountsApp,
        providers::{outcome::not_linked, redirect},
    },
    error::{HttpResult, Problem},
    pages::{errors::FormErrors, redirect_to},
    request::{CredentialRateLimit, FormBody, PathParam},
};

/// `POST /account/providers/{provider}`: redirects to the provider, to link it. The page with the form therefore needs
/// [`POLICY_FORM_LEADS_AWAY`](crate::edge::headers::POLICY_FORM_LEADS_AWAY).
pub(super) async fn link(
    State(app): State<AccountsApp>,
    PathParam(name): PathParam,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<PasswordForm>,
) -> HttpResult {
    let provider = redirect::named(&name)?;
    match begun(&app, &me, &provider, form).await {
        Ok(begun) => me.with_new_token(&app, redirect::redirect_to_link(&me.asked, &begun)?).await,
        Err(error) => not_yet(&app, &me, &provider, error.into()).await,
    }
}

async fn begun(
    app: &AccountsApp,
    me: &Me,
    provider: &ProviderName,
    form: PasswordForm,
) -> Result<LoginRedirect, Error> {
    let current = me.current_password(form.current)?;
    let back = redirect::callback_of(app, &me.asked, provider)?;
    let from = me.asked.client.limited_by();
    app.accounts.begin_link(me.session, provider.clone(), back, current, from).await
}

/// Shows the account page again after a wrong password, else a page with the reason.
async fn not_yet(
    app: &AccountsApp,
    me: &Me,
    provider: &ProviderName,
    problem: Problem,
) -> HttpResult {
    let is_too_often = problem.status == StatusCode::TOO_MANY_REQUESTS;
    // A malformed password counts as a wrong one.
    let is_wrong = matches!(problem.status, StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN);
    if !me.account().has_password || !(is_wrong || is_too_often) {
        return not_linked(app, problem);
    }
    let mut errors = FormErrors::of_refusal(problem, WAYS)?;
    if is_wrong {
        errors = errors.only(field_of(provider), "this is not your current password");
    }
    again(app, me, &errors).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnlinkForm {
    issuer: String,
    #[serde(default)]
    current: String,
}

/// `POST /account/unlink`; also for a provider that is no longer configured.
pub(super) async fn unlink(
    State(app): State<AccountsApp>,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<UnlinkForm>,
) -> HttpResult {
    match unlinked(&app, &me, form).await {
        Ok(()) => me.with_new_token(&app, redirect_to("/account")?).await,
        // A second click on the same button.
        Err(Error::NotFound(_)) => redirect_to("/account"),
        Err(error) => again(&app, &me, &me.reauthentication_errors(error, WAYS)?).await,
    }
}

async fn unlinked(app: &AccountsApp, me: &Me, form: UnlinkForm) -> Result<(), Error> {
    let current = me.current_password(form.current)?;
    app.accounts.unlink(me.session, form.issuer, current, me.asked.client.limited_by()).await
}

/// The id of the section with the providers.
const WAYS: &str = "ways";
