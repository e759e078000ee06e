//! Account deletion.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{Error, accounts::Username};
use serde::Deserialize;

use super::{account::again, me::Me};
use crate::{
    accounts::app::AccountsApp,
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::{CredentialRateLimit, FormBody},
    sign_in::sign_browser_out,
};

/// The page after a deletion.
#[derive(Template)]
#[template(path = "accounts/deleted.html")]
pub(super) struct DeletedPage<'a> {
    pub(super) username: &'a Username,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DeleteForm {
    confirm: String,
    current: String,
}

/// The id of the password field in the deletion form.
const CURRENT: &str = "delete-current";

/// `POST /account/delete`, with the username as confirmation and the password.
pub(super) async fn delete(
    State(app): State<AccountsApp>,
    me: Me,
    _: CredentialRateLimit,
    FormBody(form): FormBody<DeleteForm>,
) -> HttpResult {
    let account = me.account();
    if !Username::parse(&form.confirm).is_ok_and(|typed| typed == account.username) {
        let errors = FormErrors::about("confirm", "type your username to delete the account");
        return again(&app, &me, &errors).await;
    }
    if let Err(error) = deleted(&app, &me, form.current).await {
        return again(&app, &me, &me.reauthentication_errors(error, CURRENT)?).await;
    }
    let page = DeletedPage { username: &account.username };
    sign_browser_out(&me.asked, pages::page(&app.site, StatusCode::OK, &page)?)
}

async fn deleted(app: &AccountsApp, me: &Me, current: String) -> Result<(), Error> {
    let current = me.current_password(current)?;
    app.accounts.delete(me.session, current, me.asked.client.limited_by()).await.map(drop)
}
