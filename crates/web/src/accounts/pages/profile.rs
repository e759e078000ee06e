//! Changing one's nickname, address and password.

use axum::extract::State;
use http::StatusCode;
use lodge_domain::{Error, accounts::NewPassword, passwords::Password};
use serde::Deserialize;

use super::{
    account::{self, View},
    me::{Me, me, sign_in_first},
    profile_form::ProfileForm,
};
use crate::{
    accounts::app::AccountsApp,
    body::Whole,
    edge::limits,
    error::HttpResult,
    pages::{errors::FormErrors, go_to},
    request::{self, Asked},
};

/// `POST /account`.
pub(super) async fn edit(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let form: ProfileForm = request::form(&body)?;
    match form.parse() {
        Ok(edit) => {
            app.accounts.edit(me.session, edit).await?;
            go_to("/account?saved")
        }
        Err(errors) => {
            let view = View { notice: None, form: &form, errors: &errors };
            account::page(&app, &me, StatusCode::BAD_REQUEST, view).await
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PasswordForm {
    current: String,
    new: String,
    /// For browsers that keep passwords; the name is known.
    username: String,
}

/// `POST /account/password`.
pub(super) async fn change_password(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let form: PasswordForm = request::form(&body)?;
    match changed(&app, &asked, &me, form).await {
        Ok(()) => go_to("/account?password"),
        Err(error) => {
            let (mut errors, problem) = FormErrors::from_error(error, "new");
            if problem.status.is_server_error() {
                return Err(problem);
            }
            let account = &me.signed_in.account;
            if problem.status == StatusCode::FORBIDDEN && account.has_password {
                errors = FormErrors::about("current", &problem.detail);
            }
            let form = ProfileForm::of(account);
            let view = View { notice: None, form: &form, errors: &errors };
            let mut response = account::page(&app, &me, problem.status, view).await?;
            problem.say_when(response.headers_mut());
            Ok(response)
        }
    }
}

async fn changed(
    app: &AccountsApp,
    asked: &Asked,
    me: &Me,
    form: PasswordForm,
) -> Result<(), Error> {
    let PasswordForm { current, new, username: _ } = form;
    let account = &me.signed_in.account;
    let current = account.has_password.then(|| Password::parse("current", current)).transpose()?;
    let new = NewPassword::parse("new", new, &account.username)?;
    let from = asked.client.limited_by();
    app.accounts.change_password(me.session, current, new, from).await.map(drop)
}
