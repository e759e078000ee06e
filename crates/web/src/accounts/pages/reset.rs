//! Password reset with a one-time code.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{Error, accounts::Username};
use serde::Deserialize;

use crate::{
    accounts::{app::AccountsApp, new_password::new_password},
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::{CredentialRateLimit, FormBody},
};

#[derive(Template)]
#[template(path = "accounts/reset.html")]
pub(super) struct ResetPage<'a> {
    pub(super) form: &'a ResetForm,
    pub(super) errors: &'a FormErrors,
    /// Whether the password is set.
    pub(super) done: bool,
}

/// The form, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResetForm {
    pub(super) username: String,
    pub(super) code: String,
    pub(super) new: String,
}

/// `GET /login/reset`.
pub(super) async fn form(State(app): State<AccountsApp>) -> HttpResult {
    page(&app, &ResetForm::default(), &FormErrors::default(), false)
}

/// `POST /login/reset`.
pub(super) async fn set(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    FormBody(form): FormBody<ResetForm>,
) -> HttpResult {
    let Err(error) = done(&app, &form).await else {
        return page(&app, &form, &FormErrors::default(), true);
    };
    let errors = FormErrors::of_refusal(error, "code")?;
    page(&app, &form, &errors.beside_field(StatusCode::FORBIDDEN, "code"), false)
}

async fn done(app: &AccountsApp, form: &ResetForm) -> Result<(), Error> {
    let username = Username::parse(&form.username)?;
    let new = new_password("new", form.new.clone(), &username)?;
    let code = form.code.trim().to_owned();
    app.accounts.reset_password(username, code.into(), new).await
}

fn page(app: &AccountsApp, form: &ResetForm, errors: &FormErrors, done: bool) -> HttpResult {
    pages::form_page(&app.site, errors, &ResetPage { form, errors, done })
}
