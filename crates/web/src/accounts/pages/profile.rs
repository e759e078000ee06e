//! Changes of nickname, e-mail address and password.

use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, Email, FreshSession, Nickname, ProfileChange},
};
use serde::Deserialize;

use super::{
    account::{self, again},
    me::Me,
};
use crate::{
    accounts::{app::AccountsApp, new_password::new_password},
    edge::limits,
    error::HttpResult,
    pages::{errors::FormErrors, forms::non_empty, redirect_to},
    request::{CredentialRateLimit, FormBody},
    session,
    sign_in::signed_in,
};

/// The profile form, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProfileForm {
    pub(super) nickname: String,
    pub(super) email: String,
    pub(super) current: String,
}

impl ProfileForm {
    /// The initial content of the form.
    pub(super) fn of(account: &Account) -> Self {
        let email = account.email.as_ref().map_or("", Email::as_str);
        Self { nickname: account.nickname.to_string(), email: email.to_owned(), ..Self::default() }
    }

    /// Parses nickname and e-mail address; the address only if it is new.
    fn parse(&self, account: &Account) -> Result<ProfileChange, FormErrors> {
        let mut errors = FormErrors::default();
        let nickname = errors.take(Nickname::parse(&self.nickname));
        let email = errors.take(non_empty(&self.email).map(Email::parse).transpose());
        if !errors.is_empty() {
            return Err(errors);
        }
        let email = email.filter(|email| *email != account.email);
        Ok(ProfileChange { nickname, email, ..ProfileChange::default() })
    }
}

/// `POST /account`.
pub(super) async fn edit(
    State(app): State<AccountsApp>,
    me: Me,
    FormBody(form): FormBody<ProfileForm>,
) -> HttpResult {
    let errors = match form.parse(me.account()) {
        Ok(edit) => match edited(&app, &me, edit, &form.current).await {
            Ok(Edited::Profile) => return redirect_to("/account?saved"),
            Ok(Edited::Email) => {
                return me.with_new_token(&app, redirect_to("/account?saved")?).await;
            }
            Err(error) => me.reauthentication_errors(error, CURRENT)?,
        },
        Err(errors) => errors,
    };
    account::page(&app, &me, None, &form, &errors).await
}

/// The id of the field with the current password.
const CURRENT: &str = "profile-current";

/// What the form changed.
enum Edited {
    Profile,
    /// The e-mail address, which took the current password.
    Email,
}

async fn edited(
    app: &AccountsApp,
    me: &Me,
    mut edit: ProfileChange,
    current: &str,
) -> Result<Edited, Error> {
    let edited = if edit.email.is_some() { Edited::Email } else { Edited::Profile };
    if matches!(edited, Edited::Email) {
        limits::take(app.site.credential_limit.as_ref(), me.asked.client)?;
        edit.current = me.current_password(current.to_owned())?;
        edit.from = me.asked.client.limited_by();
    }
    app.accounts.edit(me.session, edit).await.map(|_| edited)
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
    let error = match changed(&app, &me, form).await {
        Ok(fresh) => {
            let cookies = session::begin_account(&me.asked, &fresh)?;
            return signed_in("/account?password", "/account", cookies);
        }
        Err(error) => error,
    };
    let mut errors = FormErrors::of_refusal(error, "new")?;
    if me.account().has_password {
        errors = errors.beside_field(StatusCode::FORBIDDEN, "current");
    }
    again(&app, &me, &errors).await
}

async fn changed(app: &AccountsApp, me: &Me, form: PasswordForm) -> Result<FreshSession, Error> {
    let current = me.current_password(form.current)?;
    let new = new_password("new", form.new, me.account())?;
    let from = me.asked.client.limited_by();
    app.accounts.change_password(me.session, current, new, from).await
}
