//! What a browser keeps on the way to a provider and back.

use axum::response::Response;
use http::header;
use lodge_domain::Result;

use crate::{
    cookies::{self, Cookie},
    request::Asked,
};

/// A cookie, or its end; `Lax`, because the way back begins on the provider's pages.
pub(super) fn keep(
    asked: &Asked,
    response: &mut Response,
    name: &CookieName,
    (value, max_age_seconds): (&str, i64),
) -> Result<()> {
    let secure = asked.over_tls();
    let name = name.of(secure);
    let cookie = Cookie { name, value, path: "/", same_site: "Lax", max_age_seconds };
    response.headers_mut().append(header::SET_COOKIE, cookie.header(secure)?);
    Ok(())
}

/// What a cookie is called over TLS, where the prefix keeps neighbours from setting it, and elsewhere.
pub(super) struct CookieName(pub(super) &'static str, pub(super) &'static str);

impl CookieName {
    fn of(&self, secure: bool) -> &'static str {
        if secure { self.0 } else { self.1 }
    }

    /// What the browser keeps under it.
    pub(super) fn read<'a>(&self, asked: &'a Asked) -> Option<&'a str> {
        cookies::read(&asked.headers, self.of(asked.over_tls()))
    }
}

/// Kept while somebody is at a provider.
pub(super) const AWAY: CookieName = CookieName("__Host-lodge_provider", "lodge_provider");

/// What stands before it where somebody wants to link; no provider's name begins so.
pub(super) const TO_LINK: &str = "~";

/// A cookie's end.
pub(super) const OVER: (&str, i64) = ("", 0);
