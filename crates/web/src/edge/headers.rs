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

/// Returns the `Strict-Transport-Security` of a site that is reached over TLS.
pub(crate) const fn strict_transport(with_subdomains: bool) -> HeaderValue {
    HeaderValue::from_static(if with_subdomains {
        "max-age=31536000; includeSubDomains"
    } else {
        "max-age=31536000"
    })
}

/// Adds the headers that the route has not set itself; `strict_transport` if the site is reached over TLS.
pub(crate) fn add(response: &mut Response, strict_transport: Option<&HeaderValue>) {
    add_to_all(response, strict_transport);
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
pub(crate) fn add_to_all(response: &mut Response, strict_transport: Option<&HeaderValue>) {
    response.headers_mut().entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(NO_SNIFFING);
    if let Some(value) = strict_transport {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, value.clone());
    }
}
