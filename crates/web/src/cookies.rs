//! Cookies, used by pages only; the API ignores them.

use http::{HeaderMap, HeaderValue, header};
use lodge_domain::{Error, Result};

/// A cookie to set, for all pages: always `HttpOnly`, and `Secure` if the site uses TLS.
pub(crate) struct Cookie<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The value, of characters that need no quoting.
    pub(crate) value: &'a str,
    /// `Strict` or `Lax`.
    pub(crate) same_site: &'static str,
    /// The lifetime in seconds; 0 deletes the cookie.
    pub(crate) max_age_seconds: i64,
}

impl Cookie<'_> {
    /// Formats the `Set-Cookie` header.
    pub(crate) fn header(&self, secure: bool) -> Result<HeaderValue> {
        let Self { name, value, same_site, max_age_seconds } = self;
        let secure = if secure { "; Secure" } else { "" };
        let text = format!(
            "{name}={value}; Path=/; Max-Age={max_age_seconds}; HttpOnly; SameSite={same_site}{secure}"
        );
        HeaderValue::try_from(text).map_err(Error::internal)
    }
}

/// The two names of a cookie: over TLS and over plain HTTP. Over TLS the prefix `__Host-` keeps sibling domains from
/// setting it.
pub(crate) struct CookieName(pub(crate) &'static str, pub(crate) &'static str);

impl CookieName {
    /// Returns the name.
    pub(crate) fn of(&self, secure: bool) -> &'static str {
        if secure { self.0 } else { self.1 }
    }

    /// Returns the value that the browser sent.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap, secure: bool) -> Option<&'a str> {
        read(headers, self.of(secure))
    }

    /// Formats the `Set-Cookie` header; `Lax`, because the redirect from a provider starts on
    /// another site.
    pub(crate) fn header(
        &self,
        value: &str,
        max_age_seconds: i64,
        secure: bool,
    ) -> Result<HeaderValue> {
        let name = self.of(secure);
        Cookie { name, value, same_site: "Lax", max_age_seconds }.header(secure)
    }
}

/// Returns the first cookie of that name; browsers send the one with the longest path first.
pub(crate) fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    pairs(headers).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the names and values of the cookies that the browser sent.
pub(crate) fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cookie_of_a_name_wins() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; lodge_manage=near; b"));
        headers.append(header::COOKIE, HeaderValue::from_static("lodge_manage=far; c=x=y"));
        assert_eq!(read(&headers, "lodge_manage"), Some("near"));
        assert_eq!(read(&headers, "c"), Some("x=y"));
        assert_eq!(read(&headers, "manage"), None);
    }

    #[test]
    fn cookies_are_http_only() {
        let cookie = Cookie { name: "n", value: "v", same_site: "Strict", max_age_seconds: 5 };
        assert_eq!(
            cookie.header(true).unwrap(),
            "n=v; Path=/; Max-Age=5; HttpOnly; SameSite=Strict; Secure"
        );
        assert!(!cookie.header(false).unwrap().to_str().unwrap().contains("Secure"));
    }
}
