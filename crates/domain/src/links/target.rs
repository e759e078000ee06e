//! The target of a link, as sent in the `Location` header.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::{ParseError, Url};

use super::short::Short;
use crate::{Error, Result, text::display_text};

/// The maximum length of a target, in bytes, both as given and as normalised.
pub const BYTES_MAX: usize = 8 * 1024;

/// An absolute http or https URL in its normalised ASCII form (WHATWG URL Standard), at most 8 KiB, without control
/// characters, raw or once-decoded, in scheme, host or path.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(Box<str>);
display_text!(Target);

/// A host and port that this server is reached by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    host: String,
    port: u16,
}

impl Target {
    /// Parses a target as given; one without a scheme gets `https://`.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim_matches(' ');
        if text.is_empty() {
            return refuse("is empty; it must be an http or https URL");
        }
        if text.len() > BYTES_MAX {
            return refuse("is too long; it must be at most 8 KiB");
        }
        // Checked first, because the URL parser drops tabs and line ends silently.
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        let url = Url::parse(&with_scheme(text)).map_err(|error| {
            let has_wrong_port = error == ParseError::InvalidPort;
            Error::invalid("target", if has_wrong_port { INVALID_PORT } else { NOT_A_URL })
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("must be an http or https URL");
        }
        check_host(url.host_str().unwrap_or_default())?;
        if percent_decode_str(url.path()).any(|byte| byte.is_ascii_control()) {
            return refuse("contains an encoded control character in its path");
        }
        if url.as_str().len() > BYTES_MAX {
            return refuse("is too long once normalised; it must be at most 8 KiB");
        }
        Ok(Self(url.as_str().into()))
    }

    /// Creates a target from a store, which was parsed when it was stored.
    pub fn stored(text: String) -> Self {
        Self(text.into())
    }

    /// Returns the URL, all ASCII.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, lower-case, without port or last dot; sliced from the normal form, not parsed again.
    pub fn host(&self) -> &str {
        let after_scheme = self.0.split_once("://").map_or(&*self.0, |(_, rest)| rest);
        let authority =
            &after_scheme[..after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len())];
        let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let port_at = host_and_port.rfind(':').filter(|at| !host_and_port[*at..].contains(']'));
        host_and_port[..port_at.unwrap_or(host_and_port.len())].trim_end_matches('.')
    }

    /// Whether the target is a short of one of this server's `origins`, which would be a redirect loop.
    pub fn loops_to(&self, origins: &[Origin]) -> bool {
        let Ok(url) = Url::parse(&self.0) else { return false };
        let Some(origin) = Origin::of(&url) else { return false };
        let Some(mut segments) = url.path_segments() else { return false };
        let (Some(first), None) = (segments.next(), segments.next()) else { return false };
        let first = percent_decode_str(first).decode_utf8_lossy().into_owned();
        origins.contains(&origin) && Short::parse(&first).is_ok()
    }
}

impl Origin {
    /// Returns the origin of a base URL such as `https://go.example.org`.
    pub fn parse(base: &str) -> Option<Self> {
        Url::parse(base).ok().as_ref().and_then(Self::of)
    }

    /// Returns the origins that a request's `Host` header names; without a port, both 80 and 443.
    pub fn from_host_header(host: &str) -> Vec<Self> {
        ["http", "https"]
            .iter()
            .filter_map(|scheme| Self::parse(&format!("{scheme}://{host}")))
            .collect()
    }

    fn of(url: &Url) -> Option<Self> {
        let host = url.host_str()?.trim_end_matches('.').to_owned();
        Some(Self { host, port: url.port_or_known_default()? })
    }
}

const NOT_A_URL: &str = "is not a URL; a URL looks like https://example.org/page";
const INVALID_PORT: &str = "has an invalid port; a port is a number from 0 to 65535";

/// Refuses hosts that the URL standard allows and no name server can resolve.
fn check_host(host: &str) -> Result<()> {
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let why = if !name.starts_with('[') && !name.chars().all(is_of_name) {
        NOT_A_URL
    } else if name.trim_matches('.').is_empty() {
        "has no host"
    } else if name.split('.').any(str::is_empty) {
        "has a host with two dots in a row or a leading dot"
    } else if matches!(name, "http" | "https") {
        "has no colon after its scheme"
    } else {
        return Ok(());
    };
    Err(Error::invalid("target", why))
}

fn refuse(why: &'static str) -> Result<Target> {
    Err(Error::invalid("target", why))
}

/// Adds `https://` if there is no scheme. A first colon followed only by digits up to `/ ? #` or the end separates
/// host and port, not a scheme.
fn with_scheme(text: &str) -> String {
    if text.starts_with("//") {
        return format!("https:{text}");
    }
    let head = &text[..text.find(['/', '?', '#']).unwrap_or(text.len())];
    let has_scheme = head
        .split_once(':')
        .is_some_and(|(_, rest)| rest.is_empty() || !rest.bytes().all(|b| b.is_ascii_digit()));
    if has_scheme && !head.starts_with('[') { text.to_owned() } else { format!("https://{text}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normal(text: &str) -> String {
        Target::parse(text).map_or_else(|error| error.to_string(), |target| target.to_string())
    }

    #[test]
    fn a_target_without_a_scheme_gets_https() {
        assert_eq!(normal("google.com"), "https://google.com/");
        assert_eq!(normal("localhost:8080"), "https://localhost:8080/");
        assert_eq!(normal("localhost:8080/a?b#c"), "https://localhost:8080/a?b#c");
        assert_eq!(normal("example.org/a:b"), "https://example.org/a:b");
        assert_eq!(normal("//example.org/x"), "https://example.org/x");
        assert_eq!(normal("[::1]:80/x"), "https://[::1]:80/x");
        assert_eq!(normal("[::1]"), "https://[::1]/");
        assert_eq!(
            normal("https://www.cs.toronto.edu/~arnold/"),
            "https://www.cs.toronto.edu/~arnold/"
        );
    }

    #[test]
    fn the_location_is_ascii() {
        assert_eq!(
            normal("http://bücher.example/straße?q=ü"),
            "http://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC"
        );
        assert_eq!(normal("HTTP://EXAMPLE.org:80"), "http://example.org/");
    }

    #[test]
    fn only_http_and_https_targets_are_accepted() {
        let bad = [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://x.org",
            "mailto:a@b.c",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "vbscript:x",
            "https://",
            "https://./",
            "..",
            "http:",
            "https//example.org",
            "http/example.org",
            "example..org",
            ".example.org",
            "example.org..",
            "not a url at all",
            "not+a+url",
            "",
            "  ",
        ];
        for text in bad {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_url_is_refused_with_an_example_of_one() {
        for text in ["not a url at all", "not+a+url", "(none)", "https://", "http://[::1"] {
            assert!(normal(text).ends_with("https://example.org/page"), "{text}: {}", normal(text));
        }
        assert!(normal("example.org:99999").contains("from 0 to 65535"));
        assert_eq!(normal("my_host.example-2.org"), "https://my_host.example-2.org/");
    }

    #[test]
    fn control_characters_are_refused_raw_and_encoded() {
        for text in [
            "https://a.b/\r\nX: y",
            "https://a.b/\tx",
            "https://a.b/%0d%0aX",
            "https://a.b/%00",
            "https://a%0ab/",
            "java\nscript:x",
            "a.b/\u{7f}",
            "a.b/\u{85}",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
        assert!(Target::parse("https://a.b/?q=%0a").is_ok(), "in a query it is allowed");
    }

    #[test]
    fn nine_kilobytes_are_too_long() {
        assert!(Target::parse(&format!("https://a.b/{}", "x".repeat(9 * 1024))).is_err());
        assert!(
            Target::parse(&format!("https://a.b/{}", "ü".repeat(3 * 1024))).is_err(),
            "18 KiB once encoded"
        );
        assert!(Target::parse(&format!("https://a.b/{}", "x".repeat(8 * 1024 - 12))).is_ok());
    }

    #[test]
    fn a_link_to_a_short_of_our_own_is_a_loop() {
        let own = Origin::from_host_header("go.example.org");
        let loops = |text: &str| Target::parse(text).is_ok_and(|target| target.loops_to(&own));
        assert!(loops("https://go.example.org/gg"));
        assert!(loops("http://GO.example.org./gg?x"));
        assert!(loops("https://go.example.org/%67g"));
        assert!(!loops("https://go.example.org/"));
        assert!(!loops("https://go.example.org/api"), "a route");
        assert!(!loops("https://go.example.org/links/gg"));
        assert!(!loops("https://go.example.org:8443/gg"), "another port");
        assert!(!loops("https://example.org/gg"));
    }

    #[test]
    fn the_host_is_cut_out_of_the_normal_form() {
        let host = |text: &str| {
            Target::parse(text).map(|target| target.host().to_owned()).unwrap_or_default()
        };
        assert_eq!(host("https://User:pw@Example.org.:8443/a@b:c"), "example.org");
        assert_eq!(host("http://[::1]:80/"), "[::1]");
        assert_eq!(host("http://[::1]/"), "[::1]");
    }

    proptest! {
        #[test]
        fn normalising_a_target_again_does_not_change_it(text in "\\PC{0,80}") {
            if let Ok(target) = Target::parse(&text) {
                prop_assert_eq!(Target::parse(target.as_str()).ok(), Some(target.clone()));
                prop_assert!(target.as_str().bytes().all(|b| (0x21..0x7f).contains(&b)));
                prop_assert!(target.as_str().starts_with("http://") || target.as_str().starts_with("https://"));
            }
        }
    }
}
