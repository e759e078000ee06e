//! The cookies of a sign-in with a provider.

use axum::response::Response;
use http::header;
use lodge_domain::Result;

use crate::{cookies::CookieName, request::RequestContext};

/// Sets or deletes a cookie.
pub(super) fn keep(
    asked: &RequestContext,
    response: &mut Response,
    name: &CookieName,
    (value, max_age_seconds): (&str, i64),
) -> Result<()> {
    let cookie = name.header(value, max_age_seconds, asked.over_tls())?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(())
}

/// Returns the value of a cookie.
pub(super) fn kept<'a>(asked: &'a RequestContext, name: &CookieName) -> Option<&'a str> {
    name.read(&asked.headers, asked.over_tls())
}

/// The cookie with the state of a sign-in, while the browser is at the provider.
pub(super) const STATE_COOKIE: CookieName = CookieName("__Host-lodge_provider", "lodge_provider");

/// The prefix of a state that links a provider; no provider name starts with it.
pub(super) const TO_LINK: &str = "~";

/// Value and `Max-Age` that delete a cookie.
pub(super) const OVER: (&str, i64) = ("", 0);
