//! Changes of nickname, e-mail address and password.

use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, Email, Nickname, ProfileChange},
};
use serde::Deserialize;

use super::{
    account::{self, again},
    me::Me,
};
use crate::{
    accounts::{app::AccountsApp, new_password::new_password},
    error::HttpResult,
    pages::{errors::FormErrors, forms::non_empty, redirect_to},
    request::{CredentialRateLimit, FormBody},
};

/// The profile form, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProfileForm {
    pub(super) nickname: String,
    pub(super) email: String,
}

impl ProfileForm {
    /// The initial content of the form.
    pub(super) fn of(account: &Account) -> Self {
        let email = account.email.as_ref().map_or("", Email::as_str);
        Self { nickname: account.nickname.to_string(), email: email.to_owned() }
    }

    /// Parses the form.
    fn parse(&self) -> Result<ProfileChange, FormErrors> {
        let mut errors = FormErrors::default();
        let nickname = errors.take(Nickname::parse(&self.nickname));
        let email = errors.take(non_empty(&self.email).map(Email::parse).transpose());
        if errors.is_empty() { Ok(ProfileChange { nickname, email }) } else { Err(errors) }
    }
}

/// `POST /account`.
pub(super) async fn edit(
    State(app): State<AccountsApp>,
    me: Me,
    FormBody(form): FormBody<ProfileForm>,
) -> HttpResult {
    match form.parse() {
        Ok(edit) => {
            app.accounts.edit(me.session, edit).await?;
            redirect_to("/account?saved")
        }
        Err(errors) => account::page(&app, &me, None, &form, &errors).await,
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PasswordForm {
    current: String,
    new: String,
    /// Sent for password managers only, and ignored.
    #[serde(rename = "username")]
    _username: String,
}

/// `POST /account/password`.
pub(super) async fn change_password(
    State(app): State<AccountsApp>,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<PasswordForm>,
) -> HttpResult {
    let Err(error) = changed(&app, &me, form).await else {
        return redirect_to("/account?password");
    };
    let mut errors = FormErrors::of_refusal(error, "new")?;
    if me.account().has_password {
        errors = errors.beside_field(StatusCode::FORBIDDEN, "current");
    }
    again(&app, &me, &errors).await
}

async fn changed(app: &AccountsApp, me: &Me, form: PasswordForm) -> Result<(), Error> {
    let current = me.current_password(form.current)?;
    let new = new_password("new", form.new, me.account())?;
    let from = me.asked.client.limited_by();
    app.accounts.change_password(me.session, current, new, from).await.map(drop)
}
