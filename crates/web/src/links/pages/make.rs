//! The page that creates a link.

use askama::Template;
use axum::extract::{Query, State, rejection::QueryRejection};
use http::{StatusCode, header::SET_COOKIE};
use lodge_domain::links::{Caller, Link, Mode};
use serde::Deserialize;

use super::{
    form::LinkForm,
    managed::{keep_manage_key, maker},
};
use crate::{
    body::Whole,
    error::HttpResult,
    links::app::LinksApp,
    pages::{self, errors::FormErrors, forms, go_to, words},
    request::{self, Asked},
    session,
};

#[derive(Template)]
#[template(path = "links/make.html")]
pub(super) struct MakePage<'a> {
    pub(super) form: &'a LinkForm,
    pub(super) errors: &'a FormErrors,
    /// The public URL up to the short, without a scheme.
    pub(super) prefix: &'a str,
    /// Whether the visitor must sign in first.
    pub(super) needs_key: bool,
    /// Whether links have owners (`links.mode = "claim"`).
    pub(super) is_owned: bool,
}

/// Values to fill in at first.
#[derive(Default, Deserialize)]
pub(super) struct Prefilled {
    #[serde(default)]
    target: String,
}

/// `GET /` and `GET /new`.
pub(super) async fn form(
    State(app): State<LinksApp>,
    asked: Asked,
    prefilled: Result<Query<Prefilled>, QueryRejection>,
) -> HttpResult {
    let target = prefilled.map_or_else(|_| String::new(), |Query(prefilled)| prefilled.target);
    let form = LinkForm::empty(&*app.site.random, target);
    page(&app, &asked, &form, &FormErrors::default()).await
}

/// `POST /links`.
pub(super) async fn create(
    State(app): State<LinksApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let form: LinkForm = request::form(&body)?;
    let new = match form.to_new() {
        Ok(new) => new,
        Err(errors) => return again(&app, &asked, form, &errors).await,
    };
    let attempt = forms::attempt(&form.form, "/links", &body, asked.at)?;
    let caller = maker(&app, &asked).await?;
    if caller == Caller::Anonymous && session::of_account(&asked).is_some() {
        return signed_out(&app, &asked, form).await;
    }
    let made = match app.admit_creations(asked.client, &caller, 1, attempt.as_ref()).await {
        Ok(()) => app.links.create(new, &caller, &asked.here(), attempt).await,
        Err(error) => Err(error),
    };
    match made.and_then(|done| done.outcome) {
        Ok(link) => made_it(&app, &asked, &link),
        Err(error) => again(&app, &asked, form, &FormErrors::of_refusal(error, "short")?).await,
    }
}

/// An expired session does not create an anonymous link without the visitor's consent.
async fn signed_out(app: &LinksApp, asked: &Asked, form: LinkForm) -> HttpResult {
    let whole = "You are signed out. Sign in to create a link that you own, or submit again to create one \
                 without an account.";
    let errors = FormErrors::refusal(StatusCode::UNAUTHORIZED, whole);
    let mut response = again(app, asked, form, &errors).await?;
    response.headers_mut().append(SET_COOKIE, session::end(asked)?);
    Ok(response)
}

/// Redirects to the page that manages the link; without a manage key, as where links have no owners, to its preview.
fn made_it(app: &LinksApp, asked: &Asked, link: &Link) -> HttpResult {
    let Some(key) = app.links.manage_key(link) else { return go_to(&format!("/{}+", link.short)) };
    let mut response = go_to(&format!("/links/{}", link.short))?;
    keep_manage_key(asked, &link.short, &key, &mut response)?;
    Ok(response)
}

/// Renders the form again with the submitted values and their errors.
async fn again(app: &LinksApp, asked: &Asked, form: LinkForm, errors: &FormErrors) -> HttpResult {
    let form = LinkForm { form: forms::id(&*app.site.random), password: String::new(), ..form };
    page(app, asked, &form, errors).await
}

async fn page(app: &LinksApp, asked: &Asked, form: &LinkForm, errors: &FormErrors) -> HttpResult {
    let prefix = format!("{}/", words::bare_url(&asked.base_url));
    let needs_key = !app.links.settings().anonymous_creation
        && session::person(&app.site, asked).await?.is_none();
    let is_owned = app.links.settings().mode == Mode::Claim;
    let page = MakePage { form, errors, prefix: &prefix, needs_key, is_owned };
    pages::form_page(&app.site, errors, &page)
}
