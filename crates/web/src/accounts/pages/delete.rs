//! Deleting one's account.

use askama::Template;
use axum::extract::State;
use http::{StatusCode, header};
use lodge_domain::{Error, accounts::Username, passwords::Password};
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
    pages::{self, errors::FormErrors},
    request::{self, Asked},
    session,
};

/// Says that an account is gone.
#[derive(Template)]
#[template(path = "accounts/deleted.html")]
pub(super) struct DeletedPage<'a> {
    pub(super) username: &'a Username,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeleteForm {
    confirm: String,
    current: String,
}

/// The field in which one says one's password to delete the account.
const CURRENT: &str = "delete-current";

/// `POST /account/delete`, by whoever types the account's name, and says its password.
pub(super) async fn delete(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let DeleteForm { confirm, current } = request::form(&body)?;
    let account = &me.signed_in.account;
    if !Username::parse(&confirm).is_ok_and(|typed| typed == account.username) {
        let errors = FormErrors::about("confirm", "type the account's name to delete it");
        return not_yet(&app, &me, StatusCode::BAD_REQUEST, &errors).await;
    }
    match deleted(&app, &asked, &me, current).await {
        Ok(()) => {
            let page = DeletedPage { username: &account.username };
            let mut response = pages::page(&app.site, StatusCode::OK, &page)?;
            response.headers_mut().append(header::SET_COOKIE, session::end(&asked)?);
            Ok(response)
        }
        Err(error) => {
            let (mut errors, problem) = FormErrors::from_error(error, CURRENT);
            if problem.status.is_server_error() {
                return Err(problem);
            }
            let is_about_password =
                matches!(problem.status, StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN);
            if account.has_password && is_about_password {
                errors = FormErrors::about(CURRENT, "this is not your current password");
            }
            let mut response = not_yet(&app, &me, problem.status, &errors).await?;
            problem.say_when(response.headers_mut());
            Ok(response)
        }
    }
}

async fn deleted(app: &AccountsApp, asked: &Asked, me: &Me, current: String) -> Result<(), Error> {
    let has_password = me.signed_in.account.has_password;
    let current = has_password.then(|| Password::parse("current", current)).transpose()?;
    app.accounts.delete(me.session, current, asked.client.limited_by()).await.map(drop)
}

/// The account's page once more.
async fn not_yet(
    app: &AccountsApp,
    me: &Me,
    status: StatusCode,
    errors: &FormErrors,
) -> HttpResult {
    let form = ProfileForm::of(&me.signed_in.account);
    account::page(app, me, status, View { notice: None, form: &form, errors }).await
}
