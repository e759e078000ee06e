//! Setting a new password with a one-time code.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{NewPassword, Username},
};
use serde::Deserialize;

use crate::{
    accounts::app::AccountsApp,
    body::Whole,
    edge::limits,
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::{self, Asked},
};

#[derive(Template)]
#[template(path = "accounts/reset.html")]
pub(super) struct ResetPage<'a> {
    pub(super) form: &'a ResetForm,
    pub(super) errors: &'a FormErrors,
    /// Whether it is done.
    pub(super) done: bool,
}

/// What was typed, each field as text.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResetForm {
    pub(super) username: String,
    pub(super) code: String,
    pub(super) new: String,
}

/// `GET /login/reset`.
pub(super) async fn form(State(app): State<AccountsApp>) -> HttpResult {
    page(&app, StatusCode::OK, &ResetForm::default(), &FormErrors::default(), false)
}

/// `POST /login/reset`.
pub(super) async fn set(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let form: ResetForm = request::form(&body)?;
    match done(&app, &form).await {
        Ok(()) => page(&app, StatusCode::OK, &form, &FormErrors::default(), true),
        Err(error) => {
            let (mut errors, problem) = FormErrors::from_error(error, "code");
            if problem.status.is_server_error() {
                return Err(problem);
            }
            if problem.status == StatusCode::FORBIDDEN {
                errors = FormErrors::about("code", &problem.detail);
            }
            let mut response = page(&app, problem.status, &form, &errors, false)?;
            problem.say_when(response.headers_mut());
            Ok(response)
        }
    }
}

async fn done(app: &AccountsApp, form: &ResetForm) -> Result<(), Error> {
    let username = Username::parse(&form.username)?;
    let new = NewPassword::parse("new", form.new.clone(), &username)?;
    let code = form.code.trim().to_owned();
    app.accounts.reset_password(username, code.into(), new).await
}

fn page(
    app: &AccountsApp,
    status: StatusCode,
    form: &ResetForm,
    errors: &FormErrors,
    done: bool,
) -> HttpResult {
    Ok(pages::page(&app.site, status, &ResetPage { form, errors, done })?)
}
