//! The app's pages. Handlers read the request, call the service, and fill a template.

mod chart;
mod form;
mod list;
mod make;
mod manage;
mod statistics;
mod visitor;

#[cfg(test)]
mod samples;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, header};
use lodge_domain::{
    Error,
    links::{Caller, Link, Short},
};

pub(crate) use self::visitor::{password, preview};
use crate::{
    cookies::{self, Cookie},
    error::Problem,
    links::app::LinksApp,
    pages::words,
    request::Asked,
    routes::Routes,
    session,
};

/// Carries a link's manage key, to that link's pages only.
const MANAGE_COOKIE: &str = "lodge_manage";

/// How long a browser keeps a link's manage key.
const MANAGE_SECONDS: i64 = 90 * 24 * 60 * 60;

pub(super) fn routes() -> Routes<LinksApp> {
    Routes::default()
        .on(Method::GET, "/", make::form)
        .on(Method::GET, "/new", make::form)
        .on(Method::POST, "/links", make::create)
        .on(Method::GET, "/links", list::list)
        .on(Method::GET, "/links/{short}", manage::show)
        .on(Method::POST, "/links/{short}", manage::edit)
        .on(Method::POST, "/links/{short}/delete", manage::delete)
        .on(Method::POST, "/links/{short}/open", manage::open)
        .on(Method::GET, "/links/{short}/stats", statistics::show)
        .on(Method::GET, "/links/{short}/qr", visitor::print)
}

/// A short URL as pages show it.
struct ShortUrl {
    /// Whole.
    whole: String,
    /// Without the scheme, as people say it.
    bare: String,
    /// The path of the link's own pages.
    home: String,
}

impl ShortUrl {
    fn of(base_url: &str, short: &Short) -> Self {
        let whole = super::dto::short_url(base_url, short);
        Self { bare: words::bare_url(&whole).to_owned(), home: format!("/links/{short}"), whole }
    }
}

/// Who asks for a new link: who is signed in, or anybody.
async fn maker(app: &LinksApp, asked: &Asked) -> Result<Caller, Error> {
    let person = session::person(&app.site, asked).await?;
    Ok(person.map_or(Caller::Anonymous, |person| Caller::Owner(person.owner())))
}

/// The link and as whom this browser may manage it: by the manage key that it keeps, or as who is
/// signed in. `None` if it may not.
async fn managed(
    app: &LinksApp,
    asked: &Asked,
    short: &Short,
) -> Result<Option<(Arc<Link>, Caller)>, Error> {
    let kept =
        cookies::read(&asked.headers, MANAGE_COOKIE).map(|key| Caller::ManageKey(key.to_owned()));
    for caller in kept.into_iter().chain([maker(app, asked).await?]) {
        match app.links.managed(short, &caller).await {
            Ok(link) => return Ok(Some((link, caller))),
            Err(Error::Unauthenticated(_) | Error::Forbidden(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Makes the browser keep a link's manage key.
fn keep_manage_key(
    asked: &Asked,
    short: &Short,
    key: &str,
    response: &mut Response,
) -> Result<(), Problem> {
    set_manage_cookie(asked, short, key, MANAGE_SECONDS, response)
}

fn set_manage_cookie(
    asked: &Asked,
    short: &Short,
    value: &str,
    max_age_seconds: i64,
    response: &mut Response,
) -> Result<(), Problem> {
    let path = format!("/links/{short}");
    let cookie =
        Cookie { name: MANAGE_COOKIE, value, path: &path, same_site: "Strict", max_age_seconds };
    response.headers_mut().append(header::SET_COOKIE, cookie.header(asked.over_tls())?);
    Ok(())
}
