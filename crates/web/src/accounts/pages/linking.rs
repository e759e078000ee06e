//! By which providers one is let in: linking and unlinking them.

use std::borrow::Cow;

use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Departure, ProviderName},
    passwords::Password,
};
use serde::Deserialize;

use super::{
    account::{self, View, field_of},
    me::{Me, me, sign_in_first},
    profile_form::ProfileForm,
};
use crate::{
    accounts::{
        app::AccountsApp,
        providers::{departure, outcome::not_linked},
    },
    body::Whole,
    edge::limits,
    error::{HttpResult, Problem},
    pages::{errors::FormErrors, go_to, words},
    request::{self, Asked, Segment},
};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LinkForm {
    current: String,
}

/// `POST /account/providers/{provider}`: off to the provider, to sign in by it from then on. The page with
/// the form needs the policy for forms that lead away.
pub(super) async fn link(
    State(app): State<AccountsApp>,
    Segment(name): Segment,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let (form, provider) = (request::form(&body)?, departure::named(&name)?);
    match begun(&app, &asked, &me, &provider, form).await {
        Ok(begun) => departure::away_to_link(&asked, &begun),
        Err(error) => not_yet(&app, &me, &provider, error.into()).await,
    }
}

async fn begun(
    app: &AccountsApp,
    asked: &Asked,
    me: &Me,
    provider: &ProviderName,
    form: LinkForm,
) -> Result<Departure, Error> {
    let LinkForm { current } = form;
    let has_password = me.signed_in.account.has_password;
    let current = has_password.then(|| Password::parse("current", current)).transpose()?;
    let back = departure::callback_of(app, asked, provider)?;
    let from = asked.client.limited_by();
    app.accounts.depart_to_link(me.session, provider.clone(), back, current, from).await
}

/// The account's page once more, where the password was wrong; else a page that says why.
async fn not_yet(
    app: &AccountsApp,
    me: &Me,
    provider: &ProviderName,
    problem: Problem,
) -> HttpResult {
    let is_about_password = matches!(
        problem.status,
        StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    if !me.signed_in.account.has_password || !is_about_password {
        return not_linked(app, problem);
    }
    let mut errors = FormErrors::default();
    match problem.status {
        StatusCode::TOO_MANY_REQUESTS => errors.whole = Some(words::sentence(&problem.detail)),
        _ => errors.fields.push((Cow::Owned(field_of(provider)), NOT_IT.to_owned())),
    }
    let form = ProfileForm::of(&me.signed_in.account);
    let view = View { notice: None, form: &form, errors: &errors };
    let mut response = account::page(app, me, problem.status, view).await?;
    problem.say_when(response.headers_mut());
    Ok(response)
}

/// What cannot be a password is a wrong one.
const NOT_IT: &str = "This is not your current password.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnlinkForm {
    issuer: String,
}

/// `POST /account/unlink`: also of a provider that is not set up any more.
pub(super) async fn unlink(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let UnlinkForm { issuer } = request::form(&body)?;
    match app.accounts.unlink(me.session, issuer).await {
        // A second click on the same button.
        Ok(()) | Err(Error::NotFound(_)) => go_to("/account"),
        Err(Error::Conflict(why)) => {
            let errors = FormErrors::about(WAYS, &why);
            let form = ProfileForm::of(&me.signed_in.account);
            let view = View { notice: None, form: &form, errors: &errors };
            account::page(&app, &me, StatusCode::CONFLICT, view).await
        }
        Err(error) => Err(error.into()),
    }
}

/// The section of the page that lists who lets one in.
const WAYS: &str = "ways";
