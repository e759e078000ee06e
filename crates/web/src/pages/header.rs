//! The header of every page: the menu, and the signed-in caller. `front.rs` adds it to a page after the handler, so
//! that no handler passes the caller on, and so that a page that ends the session shows no caller.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Extension,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, Request, header, uri::PathAndQuery};
use lodge_domain::{Error, Result};
use tokio::time::timeout;

use super::{Navigation, words};
use crate::{
    context::SiteContext,
    edge::address::Peer,
    request::is_over_tls,
    session::{self, PageCaller},
};

/// Where the layout has the place of the header.
const PLACE: &str = "<!-- header -->";

/// The timeout for the name of the caller.
const CALLER_PATIENCE: Duration = Duration::from_millis(500);

/// The overview of the administration.
const ADMIN: &str = "/admin";

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// A page without its header. As a response, it is an extension: [`Visit::complete`] writes the body.
#[derive(Clone)]
pub(crate) struct Page(Arc<str>);

impl Page {
    /// A page as its template rendered it.
    pub(crate) fn new(html: &str) -> Self {
        Self(html.into())
    }

    /// Returns the whole page.
    fn with(&self, header: &Header<'_>) -> String {
        self.0.replacen(PLACE, &header.render().unwrap_or_default(), 1)
    }

    /// The same for tests of pages, with this caller.
    #[cfg(test)]
    pub(crate) fn seen_by(&self, navigation: &Navigation, caller: PageCaller) -> String {
        self.with(&Header::new(navigation, None, Ok(&Some(caller))))
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        Extension(self).into_response()
    }
}

/// What the header of a page needs of its request.
pub(crate) struct Visit {
    /// `None` unless the request is a GET.
    page: Option<PathAndQuery>,
    /// The value of the session cookie.
    session: Option<String>,
}

impl Visit {
    /// Takes the path and the session of a request.
    pub(crate) fn of<B>(site: &SiteContext, peer: Peer, request: &Request<B>) -> Self {
        let over_tls = is_over_tls(site, peer, request.headers());
        let is_get = request.method() == Method::GET;
        Self {
            page: request.uri().path_and_query().filter(|_| is_get).cloned(),
            session: session::cookie(request.headers(), over_tls).map(str::to_owned),
        }
    }

    /// Writes the page of a response, if it has one.
    pub(crate) async fn complete(&self, site: &SiteContext, response: &mut Response) {
        let Some(page) = response.extensions_mut().remove::<Page>() else { return };
        let caller = self.caller(site, response.headers()).await;
        let page_and_query = self.page.as_ref();
        let header = Header::new(&site.navigation, page_and_query, caller.as_ref());
        *response.body_mut() = page.with(&header).into();
        response.headers_mut().insert(header::CONTENT_TYPE, HTML);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }

    /// Looks up the caller. A page does not fail and does not wait for long if the store of sessions is unavailable.
    async fn caller(&self, site: &SiteContext, answered: &HeaderMap) -> Result<Option<PageCaller>> {
        // A response that sets the cookie ends the session.
        let session = self.session.as_deref().filter(|_| !session::is_set(answered));
        let Some(session) = session else { return Ok(None) };
        let late = |_| Err(Error::unavailable("the name of the caller was not found in time"));
        let found = session::caller_of(site, session);
        timeout(CALLER_PATIENCE, found).await.unwrap_or_else(late)
    }
}

#[derive(Template)]
#[template(path = "header.html")]
struct Header<'a> {
    navigation: &'a Navigation,
    /// The path that decides which entry is marked.
    path: &'a str,
    /// The path of the sign-in page, with the way back.
    sign_in: String,
    /// `Err` if it is unknown whether the caller is signed in.
    reader: Result<Option<&'a PageCaller>, ()>,
}

impl<'a> Header<'a> {
    fn new(
        navigation: &'a Navigation,
        page: Option<&'a PathAndQuery>,
        caller: Result<&'a Option<PageCaller>, &Error>,
    ) -> Self {
        let path = match page.map_or("", PathAndQuery::path) {
            "/" => navigation.entries().next().map_or("/", |(path, _)| path),
            path => path,
        };
        let is_listed = navigation.entries().any(|(entry, _)| below(path, entry).is_some());
        let back = page.map(PathAndQuery::as_str).filter(|back| is_listed && *back != "/");
        let next = back.map(|back| format!("?next={}", words::escaped(back)));
        Self {
            navigation,
            path,
            sign_in: format!("/login{}", next.unwrap_or_default()),
            reader: caller.map(Option::as_ref).map_err(drop),
        }
    }

    /// Returns the attribute of a link in the menu that leads to this page, or to a page above it.
    fn mark(&self, entry: &str) -> &'static str {
        match below(self.path, entry) {
            Some("") => " aria-current=\"page\"",
            Some(_) => " aria-current=\"true\"",
            None => "",
        }
    }
}

/// Returns what follows the path of an entry in the path of a page at or below it; `None` for any other page.
fn below<'a>(path: &'a str, entry: &str) -> Option<&'a str> {
    path.strip_prefix(entry).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check::{self, HOSTILE_INPUT};

    fn header(path: &'static str, caller: Result<&Option<PageCaller>, &Error>) -> String {
        let page = PathAndQuery::from_static(path);
        Header::new(&check::EVERYTHING, Some(&page), caller).render().unwrap()
    }

    #[test]
    fn the_header_marks_the_entry_of_the_page() {
        for (path, entry, value) in [
            ("/", "/new", "page"),
            ("/links?tag=x", "/links", "page"),
            ("/links/gg/stats", "/links", "true"),
            ("/board/lobby", "/board", "true"),
            ("/login", "/login", "page"),
        ] {
            let html = header(path, Ok(&None));
            let marked = format!("href=\"{entry}\" aria-current=\"{value}\"");
            assert!(html.contains(&marked), "{path}: {html}");
            assert_eq!(html.matches("aria-current").count(), 1, "{path}: {html}");
        }
        assert!(!header("/boarding", Ok(&None)).contains("aria-current"));
    }

    #[test]
    fn the_header_names_the_caller_or_leads_to_sign_in_and_back() {
        let key = Some(check::caller(HOSTILE_INPUT));
        let html = header("/links", Ok(&key));
        assert!(html.contains("Sign out") && !html.contains("Sign in"), "{html}");
        assert!(html.contains("&#62;&#60;script&#62;") && !html.contains("Admin"), "{html}");
        let html = header("/board/lobby?before=7:1", Ok(&None));
        assert!(html.contains("/login?next=%2Fboard%2Flobby%3Fbefore%3D7%3A1\""), "{html}");
        assert!(header("/", Ok(&None)).contains("\"/login\""));
        let html = header("/links", Err(&Error::Stale));
        assert!(!html.contains("Sign"), "an unknown caller is not called signed out: {html}");
    }
}
