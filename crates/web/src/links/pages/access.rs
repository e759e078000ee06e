//! Access to the pages that manage a link: by its manage key in a cookie, or by the signed-in owner.

use std::sync::Arc;

use axum::response::Response;
use lodge_domain::{
    Error,
    links::{Caller, Link, Short},
};

use super::link_cookie::LinkCookie;
use crate::{
    error::Problem,
    links::{app::LinksApp, dto},
    pages::words,
    request::RequestContext,
    session,
};

/// The cookie with a link's manage key.
const MANAGE_COOKIE: LinkCookie = LinkCookie("lodge_manage");

/// The lifetime of the manage cookie, in seconds.
const MANAGE_COOKIE_MAX_AGE_S: i64 = 90 * 24 * 60 * 60;

/// A short URL as pages show it.
pub(super) struct ShortUrl {
    /// With the scheme.
    pub(super) whole: String,
    /// Without the scheme.
    pub(super) bare: String,
    /// The path of the link's management pages.
    pub(super) home: String,
}

impl ShortUrl {
    pub(super) fn of(base_url: &str, short: &Short) -> Self {
        let whole = dto::short_url(base_url, short);
        Self { bare: words::bare_url(&whole).to_owned(), home: format!("/links/{short}"), whole }
    }
}

/// Returns the caller that creates a link: the signed-in owner or anonymous.
pub(super) async fn creator(app: &LinksApp, asked: &RequestContext) -> Result<Caller, Error> {
    let person = session::page_caller(&app.site, asked).await?;
    Ok(person.map_or(Caller::Anonymous, |person| Caller::Owner(person.owner())))
}

/// Returns the link and the caller that may manage it: the holder of the manage key in the cookie, or the signed-in
/// owner. `None` if neither may.
pub(super) async fn managed(
    app: &LinksApp,
    asked: &RequestContext,
    short: &Short,
) -> Result<Option<(Arc<Link>, Caller)>, Error> {
    let kept = MANAGE_COOKIE.read(asked, short);
    let kept = kept.map(|key| Caller::ManageKey(key.to_owned()));
    for caller in kept.into_iter().chain([creator(app, asked).await?]) {
        match app.links.managed(short, &caller).await {
            Ok(link) => return Ok(Some((link, caller))),
            Err(Error::Unauthenticated(_) | Error::Forbidden(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Stores a link's manage key in the browser.
pub(super) fn set_manage_key_cookie(
    asked: &RequestContext,
    short: &Short,
    key: &str,
    response: &mut Response,
) -> Result<(), Problem> {
    MANAGE_COOKIE.set(asked, short, (key, MANAGE_COOKIE_MAX_AGE_S), response)
}

/// Removes a link's manage key from the browser.
pub(super) fn remove_manage_key_cookie(
    asked: &RequestContext,
    short: &Short,
    response: &mut Response,
) -> Result<(), Problem> {
    MANAGE_COOKIE.remove(asked, short, response)
}
