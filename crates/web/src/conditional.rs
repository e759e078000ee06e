//! Conditional requests with `If-None-Match` (RFC 9110, section 13.1.2).

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};

/// The headers of a body that has an entity tag.
pub(crate) struct Tagged {
    /// The tag, without its quotes: letters, digits and dashes.
    pub(crate) tag: String,
    /// Its `Cache-Control`.
    pub(crate) cached: &'static str,
    /// Its `Content-Type`.
    pub(crate) kind: &'static str,
}

impl Tagged {
    /// Returns the body, or 304 if `If-None-Match` in the request headers names its tag.
    pub(crate) fn answer(self, asked: &HeaderMap, body: impl IntoResponse) -> Response {
        let tag = format!("\"{}\"", self.tag);
        let has_it = knows(asked, &tag);
        let described = [(header::ETAG, tag), (header::CACHE_CONTROL, self.cached.to_owned())];
        if has_it {
            return (StatusCode::NOT_MODIFIED, described).into_response();
        }
        (described, [(header::CONTENT_TYPE, self.kind)], body).into_response()
    }
}

/// Whether `If-None-Match` lists `tag`, compared weakly. A tag contains no quote, so no part of a foreign tag that is
/// split at its commas equals ours.
fn knows(asked: &HeaderMap, tag: &str) -> bool {
    let lists = asked.get_all(header::IF_NONE_MATCH).into_iter();
    let tags = lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    tags.map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn answered(known: &[&'static str]) -> StatusCode {
        let header =
            |value: &&'static str| (header::IF_NONE_MATCH, HeaderValue::from_static(value));
        let mut headers = HeaderMap::<HeaderValue>::new();
        for (name, value) in known.iter().map(header).collect::<Vec<(HeaderName, HeaderValue)>>() {
            headers.append(name, value);
        }
        let tagged = Tagged { tag: "ab-1".to_owned(), cached: "no-cache", kind: "text/plain" };
        let response = tagged.answer(&headers, "body");
        assert_eq!(response.headers()[header::ETAG], "\"ab-1\"");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache");
        response.status()
    }

    #[test]
    fn only_a_client_with_the_current_tag_gets_304() {
        for known in [
            &["\"ab-1\""][..],
            &["W/\"ab-1\""],
            &["*"],
            &["\"x\", W/\"ab-1\" ,\"y\""],
            &["\"x\"", "\"ab-1\""],
        ] {
            assert_eq!(answered(known), StatusCode::NOT_MODIFIED, "{known:?}");
        }
        for known in [
            &[][..],
            &[""],
            &["ab-1"],
            &["\"ab-2\""],
            &["w/\"ab-1\""],
            &["\"x,ab-1\""],
            &["\"ab-1"],
        ] {
            assert_eq!(answered(known), StatusCode::OK, "{known:?}");
        }
    }
}
