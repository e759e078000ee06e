//! The page that creates a link.

use askama::Template;
use axum::extract::{Query, State, rejection::QueryRejection};
use http::{StatusCode, header::SET_COOKIE};
use lodge_domain::{
    Error,
    links::{Caller, Link, Mode},
};
use serde::Deserialize;

use super::{
    access::{creator, set_manage_key_cookie},
    form::LinkForm,
    notice::Notice,
};
use crate::{
    body::FullBody,
    error::HttpResult,
    links::app::LinksApp,
    pages::{self, errors::FormErrors, forms, redirect_to, words},
    request::{self, RequestContext},
    session,
};

#[derive(Template)]
#[template(path = "links/make.html")]
pub(super) struct CreatePage<'a> {
    pub(super) form: &'a LinkForm,
    pub(super) errors: &'a FormErrors,
    /// The public URL up to the short, without a scheme.
    pub(super) prefix: &'a str,
    pub(super) visitor: Visitor,
    /// Whether links have owners (`links.mode = "claim"`).
    pub(super) is_owned: bool,
    /// Whether to tell the visitor that there is no admin yet.
    pub(super) offers_setup: bool,
}

/// Who may create the link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    /// Becomes the owner of the link.
    HasSession,
    /// Gets the manage key of the link.
    Anonymous,
    /// Cannot create links without a session.
    MustSignIn,
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
    asked: RequestContext,
    prefilled: Result<Query<Prefilled>, QueryRejection>,
) -> HttpResult {
    let target = prefilled.map_or_else(|_| String::new(), |Query(prefilled)| prefilled.target);
    let form = LinkForm::empty(&*app.site.random, target);
    let visitor = visitor(&app, &asked).await?;
    page(&app, &asked, visitor, &form, &FormErrors::default()).await
}

/// `POST /links`.
pub(super) async fn create(
    State(app): State<LinksApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let form: LinkForm = request::form(&body)?;
    let new = match form.to_new() {
        Ok(new) => new,
        Err(errors) => return form_again(&app, &asked, form, &errors).await,
    };
    let caller = creator(&app, &asked).await?;
    if caller == Caller::Anonymous && has_cookie(&asked) {
        return signed_out(&app, &asked, form).await;
    }
    let idempotency = asked.form_key(&caller, &form.form, "/links", &body)?;
    let made = match app.admit_creations(asked.client, &caller, 1, idempotency.as_ref()).await {
        Ok(()) => app.links.create(new, &caller, &asked.here(), idempotency).await,
        Err(error) => Err(error),
    };
    match made.and_then(|done| done.outcome) {
        Ok(link) => created(&app, &asked, &link),
        Err(error) => {
            form_again(&app, &asked, form, &FormErrors::of_refusal(error, "short")?).await
        }
    }
}

/// An expired session does not create an anonymous link without the visitor's consent.
async fn signed_out(app: &LinksApp, asked: &RequestContext, form: LinkForm) -> HttpResult {
    let whole = "You are signed out. Sign in to create a link that you own, or submit again to create one \
                 without an account.";
    let errors = FormErrors::refusal(StatusCode::UNAUTHORIZED, whole);
    let mut response = page(app, asked, Visitor::Anonymous, &repeated(app, form), &errors).await?;
    response.headers_mut().append(SET_COOKIE, session::end(asked)?);
    Ok(response)
}

/// Redirects to the page that manages the link; in replace mode, in which links are not managed, to its preview.
fn created(app: &LinksApp, asked: &RequestContext, link: &Link) -> HttpResult {
    if app.links.settings().mode == Mode::Replace {
        return redirect_to(&format!("/{}+", link.short));
    }
    let mut response = redirect_to(&format!("/links/{}", link.short))?;
    if let Some(key) = app.links.manage_key(link) {
        set_manage_key_cookie(asked, &link.short, &key, &mut response)?;
    }
    Notice::Created.set(asked, &link.short, &mut response)?;
    Ok(response)
}

/// Renders the form again with the submitted values and their errors.
async fn form_again(
    app: &LinksApp,
    asked: &RequestContext,
    form: LinkForm,
    errors: &FormErrors,
) -> HttpResult {
    page(app, asked, visitor(app, asked).await?, &repeated(app, form), errors).await
}

/// Returns the submitted values for another attempt: with a new id of the form, and without the password.
fn repeated(app: &LinksApp, form: LinkForm) -> LinkForm {
    LinkForm { form: forms::id(&*app.site.random), password: String::new(), ..form }
}

async fn page(
    app: &LinksApp,
    asked: &RequestContext,
    visitor: Visitor,
    form: &LinkForm,
    errors: &FormErrors,
) -> HttpResult {
    let prefix = format!("{}/", words::bare_url(&asked.base_url));
    let is_owned = app.links.settings().mode == Mode::Claim;
    let offers_setup = app.site.offers_setup(asked).await;
    let prefix = &prefix;
    let page = CreatePage { form, errors, prefix, visitor, is_owned, offers_setup };
    pages::form_page(&app.site, errors, &page)
}

/// Whether the browser has a session, which may have ended.
fn has_cookie(asked: &RequestContext) -> bool {
    session::cookie(&asked.headers, asked.over_tls()).is_some()
}

/// Looks the session up only if it is needed: anonymous creation also works while accounts are unavailable.
async fn visitor(app: &LinksApp, asked: &RequestContext) -> Result<Visitor, Error> {
    let may_be_anonymous = app.links.settings().anonymous_creation;
    let has_session = if may_be_anonymous {
        has_cookie(asked)
    } else {
        session::page_caller(&app.site, asked).await?.is_some()
    };
    Ok(match (has_session, may_be_anonymous) {
        (true, _) => Visitor::HasSession,
        (false, true) => Visitor::Anonymous,
        (false, false) => Visitor::MustSignIn,
    })
}
