//! Fields looked at as they are typed, by the rules that the forms are held against.

use axum::{Json, extract::State, response::IntoResponse};
use lodge_domain::{
    Error, Result,
    accounts::{Email, NewPassword, Nickname, Username},
};
use serde::{Deserialize, Serialize};

use crate::{
    accounts::app::AccountsApp,
    answers::private,
    body::Whole,
    edge::limits,
    error::HttpResult,
    pages::errors::FormErrors,
    request::{self, Asked},
};

/// A field as far as it is typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Typed {
    field: String,
    value: String,
    /// The name that a password is for.
    username: String,
}

/// What is wrong with it.
#[derive(Serialize)]
struct Said {
    problem: Option<String>,
}

/// `POST /account/check`. In the body, so that no address holds a password.
pub(super) async fn check(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
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
        "username" => match app.accounts.user(Username::parse(&value)?).await {
            Ok(_) => Err(Error::conflict("this name is taken")),
            Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        },
        "password" => password("password", value, &username),
        "new" => password("new", value, &username),
        "nickname" => Nickname::parse(&value).map(drop),
        "email" => Email::parse(&value).map(drop),
        _ => Err(Error::invalid("field", "is none that can be looked at")),
    }
}

/// Until there is a name, any other will do: what is common is common for everybody.
fn password(field: &'static str, typed: String, username: &str) -> Result<()> {
    let name = Username::parse(username).or_else(|_| Username::parse("somebody"))?;
    NewPassword::parse(field, typed, &name).map(drop)
}
