//! What a browser keeps on the way to a provider and back.

use axum::response::Response;
use http::header;
use lodge_domain::Result;

use crate::{cookies::CookieName, request::Asked};

/// Sets a cookie, or its end.
pub(super) fn keep(
    asked: &Asked,
    response: &mut Response,
    name: &CookieName,
    (value, max_age_seconds): (&str, i64),
) -> Result<()> {
    let cookie = name.header(value, max_age_seconds, asked.over_tls())?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(())
}

/// What the browser keeps under a name.
pub(super) fn kept<'a>(asked: &'a Asked, name: &CookieName) -> Option<&'a str> {
    name.read(&asked.headers, asked.over_tls())
}

/// Kept while somebody is at a provider.
pub(super) const AWAY: CookieName = CookieName("__Host-lodge_provider", "lodge_provider");

/// What stands before it where somebody wants to link; no provider's name begins so.
pub(super) const TO_LINK: &str = "~";

/// A cookie's end.
pub(super) const OVER: (&str, i64) = ("", 0);
