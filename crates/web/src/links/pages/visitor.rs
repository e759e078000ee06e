//! The public pages of a link: preview, password form and QR code to print.

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use lodge_domain::links::{Link, Mode, Short};

use super::access::ShortUrl;
use crate::{
    error::HttpResult,
    links::{
        app::{LinksApp, short_of},
        qr,
    },
    pages::{self, words},
    request::{PathParam, RequestContext},
};

#[derive(Template)]
#[template(path = "links/preview.html")]
pub(super) struct PreviewPage<'a> {
    pub(super) url: &'a ShortUrl,
    /// `None` for a limited or protected link, whose target is not public.
    pub(super) link: Option<&'a Link>,
    pub(super) short: &'a Short,
    pub(super) qr: &'a str,
    /// Whether links have owners, so that the visitor may be this one's.
    pub(super) may_manage: bool,
}

impl PreviewPage<'_> {
    /// Splits the target into the part before the host, the host, and the part after it.
    fn parts(&self) -> (&str, &str, &str) {
        let Some(link) = self.link else { return ("", "", "") };
        let (whole, host) = (link.target.as_str(), link.target.host());
        let authority = whole.find("://").map_or(0, |at| at + 3);
        let end = whole[authority..].find(['/', '?', '#']).map_or(whole.len(), |at| authority + at);
        let start = whole[authority..end].rfind('@').map_or(authority, |at| authority + at + 1);
        (&whole[..start], host, &whole[start + host.len()..])
    }
}

/// `GET /{short}+`; counts no click.
pub(crate) async fn preview(app: &LinksApp, short: &Short, asked: &RequestContext) -> HttpResult {
    let link = app.links.live(short).await?;
    let url = ShortUrl::of(&asked.base_url, short);
    let qr = qr::inline(&url.whole)?;
    let open = link.is_plain().then_some(&*link);
    let may_manage = app.links.settings().mode == Mode::Claim;
    let page = PreviewPage { url: &url, link: open, short, qr: &qr, may_manage };
    pages::page(&app.site, StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "links/password.html")]
pub(super) struct PasswordPage<'a> {
    pub(super) short: &'a Short,
    pub(super) wrong: Option<String>,
}

/// Asks for the password of a link.
pub(crate) fn password(app: &LinksApp, link: &Link, wrong: Option<String>) -> Response {
    let wrong = wrong.map(|why| {
        words::sentence(
            why.strip_prefix("password: ")
                .map_or(why.as_str(), |_| "enter the password, at most 128 characters"),
        )
    });
    let page = PasswordPage { short: &link.short, wrong };
    pages::page(&app.site, StatusCode::OK, &page).into_response()
}

#[derive(Template)]
#[template(path = "links/print.html")]
pub(super) struct PrintPage<'a> {
    pub(super) url: &'a ShortUrl,
    pub(super) short: &'a Short,
    pub(super) qr: &'a str,
}

/// `GET /links/{short}/qr`.
pub(super) async fn print(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    app.links.live(&short).await?;
    let url = ShortUrl::of(&asked.base_url, &short);
    let qr = qr::inline(&url.whole)?;
    pages::page(&app.site, StatusCode::OK, &PrintPage { url: &url, short: &short, qr: &qr })
}
