//! The page that manages a link.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    links::{Caller, Grouping, Link, LinkState, Mode, Short},
};
use serde::Deserialize;

use super::{
    access::{ShortUrl, creator, managed, remove_manage_key_cookie, set_manage_key_cookie},
    form::LinkForm,
    notice::Notice,
};
use crate::{
    body::FullBody,
    edge::limits,
    error::HttpResult,
    links::{
        app::{LinksApp, short_of},
        qr,
    },
    pages::{self, errors::FormErrors, redirect_to, words},
    request::{self, PathParam, RequestContext},
};

#[derive(Template)]
#[template(path = "links/manage.html")]
pub(super) struct ManagePage<'a> {
    pub(super) link: &'a Link,
    pub(super) url: &'a ShortUrl,
    pub(super) qr: &'a str,
    pub(super) state: LinkState,
    pub(super) clicks: u64,
    /// The manage key, if it is new.
    pub(super) manage_key: Option<&'a str>,
    pub(super) notice: Option<&'static str>,
    pub(super) may_edit: bool,
    pub(super) form: &'a LinkForm,
    pub(super) errors: &'a FormErrors,
}

impl ManagePage<'_> {
    fn redirect_code(&self) -> u16 {
        self.link.redirect.into()
    }
}

/// The page that asks for a link's manage key.
#[derive(Template)]
#[template(path = "links/open.html")]
pub(super) struct OpenPage<'a> {
    pub(super) url: &'a ShortUrl,
    pub(super) wrong: Option<&'a str>,
}

/// The page after the deletion of a link.
#[derive(Template)]
#[template(path = "links/deleted.html")]
pub(super) struct DeletedPage<'a> {
    pub(super) url: &'a ShortUrl,
    pub(super) reserved_days: i64,
}

/// `GET /links/{short}`.
pub(super) async fn show(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let Some((link, caller)) = managed(&app, &asked, &short).await? else {
        return ask_for_key(&app, &asked, &short, StatusCode::OK, None);
    };
    let (notice, errors) = (Notice::read(&asked, &link.short), FormErrors::default());
    let form = LinkForm::of(&link, &*app.site.random);
    let mut response = page(&app, &asked, (&link, &caller), notice, &form, &errors).await?;
    if let Some(notice) = notice {
        notice.shown(&asked, &link, &mut response)?;
    }
    Ok(response)
}

/// `POST /links/{short}`.
pub(super) async fn edit(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let short = short_of(&segment)?;
    let form: LinkForm = request::form(&body)?;
    let caller = creator(&app, &asked).await?;
    let idempotency = asked.form_key(&caller, &form.form, &format!("/links/{short}"), &body)?;
    let has_new_key = !form.new_manage_key.is_empty();
    // Before the manage key is checked, since the first submission may have replaced it.
    if let Some(done) = app.links.stored_change(idempotency.as_ref()).await? {
        return saved(&app, &asked, &done.outcome, has_new_key);
    }
    let Some((link, caller)) = managed(&app, &asked, &short).await? else {
        return ask_for_key(&app, &asked, &short, StatusCode::FORBIDDEN, None);
    };
    let edit = match form.to_edit(&link) {
        Ok(edit) => edit,
        Err(errors) => return form_again(&app, &asked, (&link, &caller), form, &errors).await,
    };
    let version = form.version.parse().ok();
    let edited = match app.admit_edit(asked.client, &caller, &edit) {
        Ok(()) => app.links.edit(&short, edit, &caller, &asked.here(), version, idempotency).await,
        Err(error) => Err(error),
    };
    match edited {
        Ok(done) => saved(&app, &asked, &done.outcome, has_new_key),
        Err(error) => {
            let errors = FormErrors::of_refusal(error, "short")?;
            form_again(&app, &asked, (&link, &caller), form, &errors).await
        }
    }
}

/// Redirects to the link's page, and stores its current manage key, if it has one, in the browser.
fn saved(app: &LinksApp, asked: &RequestContext, link: &Link, has_new_key: bool) -> HttpResult {
    let mut response = redirect_to(&format!("/links/{}", link.short))?;
    if let Some(key) = app.links.manage_key(link) {
        set_manage_key_cookie(asked, &link.short, &key, &mut response)?;
    }
    Notice::of_change(asked, link, has_new_key).set(asked, &link.short, &mut response)?;
    Ok(response)
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeleteForm {
    form: String,
    version: String,
}

/// `POST /links/{short}/delete`.
pub(super) async fn delete(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let short = short_of(&segment)?;
    let caller = match managed(&app, &asked, &short).await {
        Ok(Some((_, caller))) => caller,
        Ok(None) => return ask_for_key(&app, &asked, &short, StatusCode::FORBIDDEN, None),
        // The button was clicked twice.
        Err(Error::Gone(_)) => return deleted(&app, &asked, &short),
        Err(error) => return Err(error.into()),
    };
    let DeleteForm { form, version } = request::form(&body)?;
    let idempotency = asked.form_key(&caller, &form, &format!("/links/{short}/delete"), &body)?;
    app.links.delete(&short, &caller, version.parse().ok(), idempotency).await?;
    deleted(&app, &asked, &short)
}

fn deleted(app: &LinksApp, asked: &RequestContext, short: &Short) -> HttpResult {
    let url = ShortUrl::of(&asked.base_url, short);
    let reserved_days = app.links.settings().reserved.as_hours() / 24;
    let page = DeletedPage { url: &url, reserved_days };
    let mut response = pages::page(&app.site, StatusCode::OK, &page)?;
    remove_manage_key_cookie(asked, short, &mut response)?;
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenForm {
    manage_key: String,
}

/// `POST /links/{short}/open`.
pub(super) async fn open(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let short = short_of(&segment)?;
    limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    let OpenForm { manage_key } = request::form(&body)?;
    let key = manage_key.trim();
    match app.links.managed(&short, &Caller::ManageKey(key.to_owned())).await {
        Ok(_) => {
            let mut response = redirect_to(&format!("/links/{short}"))?;
            set_manage_key_cookie(&asked, &short, key, &mut response)?;
            Ok(response)
        }
        Err(Error::Forbidden(why)) => {
            let why = words::sentence(&why);
            ask_for_key(&app, &asked, &short, StatusCode::FORBIDDEN, Some(&why))
        }
        Err(error) => Err(error.into()),
    }
}

/// Answers a browser that may not manage the link.
pub(super) fn ask_for_key(
    app: &LinksApp,
    asked: &RequestContext,
    short: &Short,
    status: StatusCode,
    wrong: Option<&str>,
) -> HttpResult {
    let page = OpenPage { url: &ShortUrl::of(&asked.base_url, short), wrong };
    pages::page(&app.site, status, &page)
}

/// Renders the page again with the submitted values and their errors. The form is for the link's current version.
async fn form_again(
    app: &LinksApp,
    asked: &RequestContext,
    (link, caller): (&Link, &Caller),
    typed: LinkForm,
    errors: &FormErrors,
) -> HttpResult {
    let current = LinkForm::of(link, &*app.site.random);
    let form =
        LinkForm { form: current.form, version: current.version, password: String::new(), ..typed };
    page(app, asked, (link, caller), None, &form, errors).await
}

async fn page(
    app: &LinksApp,
    asked: &RequestContext,
    (link, caller): (&Link, &Caller),
    notice: Option<Notice>,
    form: &LinkForm,
    errors: &FormErrors,
) -> HttpResult {
    let url = ShortUrl::of(&asked.base_url, &link.short);
    let report = app.links.report(&link.short, caller, Grouping::Device, asked.at).await?;
    let shows_key = notice.is_some_and(|notice| notice.shows_key(link));
    let manage_key = app.links.manage_key(link).filter(|_| shows_key);
    let page = ManagePage {
        link,
        qr: &qr::inline(&url.whole)?,
        url: &url,
        state: link.state(asked.at).0,
        clicks: report.total,
        manage_key: manage_key.as_deref(),
        notice: notice.and_then(Notice::text),
        may_edit: app.links.settings().mode == Mode::Claim,
        form,
        errors,
    };
    pages::form_page(&app.site, errors, &page)
}
