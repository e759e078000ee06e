//! Checks fields while they are typed, by the rules of the forms.

use axum::{Json, extract::State, response::IntoResponse};
use lodge_domain::{
    Error, Result,
    accounts::{Email, Nickname, TAKEN, Username},
};
use serde::{Deserialize, Serialize};

use crate::{
    accounts::{app::AccountsApp, new_password::new_password},
    body::FullBody,
    edge::limits,
    error::HttpResult,
    pages::errors::FormErrors,
    request::{self, RequestContext},
    responses::private,
};

/// A field as typed so far.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Typed {
    field: String,
    value: String,
    /// The username that the password belongs to.
    username: String,
}

/// The error; null if the value is valid.
#[derive(Serialize)]
struct Said {
    problem: Option<String>,
}

/// `POST /account/check`. The value is in the body, so that no URL contains a password.
pub(super) async fn check(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    limits::take(app.checks.as_ref(), asked.client)?;
    let typed: Typed = request::form(&body)?;
    let problem = match looked_at(&app, typed).await {
        Ok(()) => None,
        Err(error @ (Error::Invalid { .. } | Error::Conflict(_))) => {
            let errors = FormErrors::of_refusal(error, "username")?;
            errors.fields.into_iter().next().map(|(_, text)| text)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(private(Json(Said { problem }).into_response()))
}

async fn looked_at(app: &AccountsApp, typed: Typed) -> Result<()> {
    let Typed { field, value, username } = typed;
    match field.as_str() {
        "username" => username_is_free(app, Username::parse(&value)?).await,
        "password" => password("password", value, &username),
        "new" => password("new", value, &username),
        "nickname" => Nickname::parse(&value).map(drop),
        "email" => Email::parse(&value).map(drop),
        _ => Err(Error::invalid("field", "must be username, password, new, nickname or email")),
    }
}

/// Checks a username; that it looks like no other one is checked when the form is sent. The first admin may have any.
async fn username_is_free(app: &AccountsApp, name: Username) -> Result<()> {
    if !app.site.needs_admin().await? {
        name.check_for_visitor()?;
    }
    match app.accounts.user(name).await {
        Ok(_) => Err(TAKEN),
        Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks a password. Until the username is valid, a placeholder serves: it affects only the comparison with the name.
fn password(field: &'static str, typed: String, username: &str) -> Result<()> {
    let name = Username::parse(username).or_else(|_| Username::parse("placeholder"))?;
    new_password(field, typed, &name).map(drop)
}
