//! Deleting one's account.

use askama::Template;
use axum::extract::State;
use http::{StatusCode, header};
use lodge_domain::accounts::Username;
use serde::Deserialize;

use super::{
    account::{self, View},
    me,
    profile::ProfileForm,
    sign_in_first,
};
use crate::{
    accounts::app::AccountsApp,
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::{self, Asked, Whole},
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
}

/// `POST /account/delete`, by whoever types the account's name.
pub(super) async fn delete(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let DeleteForm { confirm } = request::form(&body)?;
    let account = &me.signed_in.account;
    if Username::parse(&confirm).is_ok_and(|typed| typed == account.username) {
        app.accounts.delete(me.session).await?;
        let page = DeletedPage { username: &account.username };
        let mut response = pages::page(&app.site, StatusCode::OK, &page)?;
        response.headers_mut().append(header::SET_COOKIE, session::end(&asked)?);
        return Ok(response);
    }
    let errors = FormErrors::about("confirm", "type the account's name to delete it");
    let form = ProfileForm::of(account);
    let view = View { notice: None, form: &form, errors: &errors };
    account::page(&app, &me, StatusCode::BAD_REQUEST, view).await
}
