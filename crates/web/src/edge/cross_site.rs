//! Cross-site request forgery protection: writes that a page of another site makes a browser send are refused. The
//! browser names the source in `Sec-Fetch-Site` or `Origin`; other programs send neither, and no cookies either.

use http::{HeaderMap, Method, Uri, header};
use lodge_domain::{Error, Result};

/// The detail of a refusal.
pub(crate) const REFUSED: &str = "requests from pages of other sites cannot make changes";

/// Refuses a write that comes from another site.
pub(crate) fn check(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<()> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let same_site = match (headers.get("sec-fetch-site"), headers.get(header::ORIGIN)) {
        (Some(site), _) => matches!(site.as_bytes(), b"same-origin" | b"none"),
        (None, Some(origin)) => is_own(origin.as_bytes(), uri, headers),
        (None, None) => true,
    };
    if same_site { Ok(()) } else { Err(Error::forbidden(REFUSED)) }
}

/// Whether the browser says that the request comes from another site. Without `Sec-Fetch-Site` it is allowed.
pub(crate) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| matches!(site.as_bytes(), b"cross-site" | b"same-site"))
}

fn is_own(origin: &[u8], uri: &Uri, headers: &HeaderMap) -> bool {
    let host = uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = host.or_else(|| headers.get(header::HOST).map(http::HeaderValue::as_bytes));
    let after_scheme = origin.strip_prefix(b"https://").or_else(|| origin.strip_prefix(b"http://"));
    matches!((after_scheme, host), (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn post(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect();
        check(&Method::POST, &Uri::from_static("/links"), &headers).is_ok()
    }

    #[test]
    fn another_sites_page_cannot_change_anything() {
        assert!(!post(&[("sec-fetch-site", "cross-site")]));
        assert!(!post(&[("sec-fetch-site", "same-site")]), "a sibling domain is another site");
        assert!(!post(&[("origin", "https://evil.example"), ("host", "go.example")]));
        assert!(!post(&[("origin", "null"), ("host", "go.example")]));
        assert!(!post(&[
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://go.example"),
            ("host", "go.example")
        ]));
    }

    #[test]
    fn our_own_pages_and_programs_can_make_changes() {
        assert!(post(&[("sec-fetch-site", "same-origin")]));
        assert!(post(&[("origin", "https://go.example"), ("host", "go.example")]));
        assert!(post(&[("host", "go.example")]));
    }

    #[test]
    fn cross_site_reads_are_allowed() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("sec-fetch-site"),
            HeaderValue::from_static("cross-site"),
        )]);
        assert!(check(&Method::GET, &Uri::from_static("/gg"), &headers).is_ok());
    }
}
