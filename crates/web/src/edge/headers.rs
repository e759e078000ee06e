//! The security headers of all responses.

use axum::response::Response;
use http::{HeaderName, HeaderValue, header};

/// The Content-Security-Policy of pages: only our own styles, scripts and images.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The same for pages with a form whose response may redirect to another site: browsers apply `form-action` to
/// redirects, too.
pub(crate) const POLICY_FORM_LEADS_AWAY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'",
);

const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");

const NO_SNIFFING: HeaderValue = HeaderValue::from_static("nosniff");

const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Adds the headers that the route has not set itself.
pub(crate) fn add(response: &mut Response, over_tls: bool) {
    add_to_all(response, over_tls);
    if response.status().is_redirection() {
        // A redirect has no content to protect, and a Referrer-Policy would hide the referrer from a link's target.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NOT_KEPT);
        return;
    }
    let defaults = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (header::CACHE_CONTROL, NOT_KEPT),
    ];
    for (name, value) in defaults {
        response.headers_mut().entry(name).or_insert(value);
    }
}

/// Adds the headers that redirects carry, too.
pub(crate) fn add_to_all(response: &mut Response, over_tls: bool) {
    response.headers_mut().entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(NO_SNIFFING);
    if over_tls {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
    }
}
