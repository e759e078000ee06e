//! The headers in which proxies name the client and its scheme: `X-Forwarded-For` and `X-Forwarded-Proto`, which win
//! over `Forwarded` (RFC 7239).
//!
//! A proxy appends to a list. So lists are read from the right, as far as trusted proxies wrote them; what is further
//! left may come from the client.

use std::{
    iter,
    net::{IpAddr, SocketAddr},
};

use http::{HeaderMap, HeaderName, header::FORWARDED};

use super::proxies::TrustedProxies;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// One element of a list: from where a proxy received the request, and how.
#[derive(Default, Clone, Copy)]
struct Hop<'a> {
    /// `None` if it is absent, obfuscated or cannot be parsed.
    address: Option<IpAddr>,
    proto: Option<&'a str>,
}

/// Returns the client behind the trusted proxy `peer`: the first address from the right that is not of a trusted proxy,
/// or the last address that can be parsed. `None` without a header that names the client.
pub(super) fn client(
    headers: &HeaderMap,
    peer: IpAddr,
    proxies: &TrustedProxies,
) -> Option<IpAddr> {
    let hop = if headers.contains_key(X_FORWARDED_FOR) {
        let hop = |element| Hop { address: parse_address(element), proto: None };
        outermost(elements(headers, X_FORWARDED_FOR).map(hop), proxies)
    } else if headers.contains_key(FORWARDED) {
        outermost(forwarded(headers), proxies)
    } else {
        return None;
    };
    Some(hop.address.unwrap_or(peer))
}

/// Whether the client uses TLS, according to the headers of a trusted proxy.
pub(crate) fn is_over_tls(headers: &HeaderMap, proxies: &TrustedProxies) -> bool {
    let proto = elements(headers, X_FORWARDED_PROTO).next();
    let proto = proto.or_else(|| outermost(forwarded(headers), proxies).proto);
    proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
}

/// Follows hops up to the first that is not a trusted proxy; what that one received is still written by a trusted one.
fn outermost<'a>(hops: impl Iterator<Item = Hop<'a>>, proxies: &TrustedProxies) -> Hop<'a> {
    let mut found = Hop::default();
    for Hop { address, proto } in hops {
        found = Hop { address: address.or(found.address), proto: proto.or(found.proto) };
        if !address.is_some_and(|address| proxies.contains(address)) {
            break;
        }
    }
    found
}

/// Parses `Forwarded`, from the right.
fn forwarded(headers: &HeaderMap) -> impl Iterator<Item = Hop<'_>> {
    elements(headers, FORWARDED).map(|element| Hop {
        address: parameter(element, "for").and_then(parse_address),
        proto: parameter(element, "proto"),
    })
}

/// Returns a parameter of an element of `Forwarded`, without its quotes; `None` if it is absent or repeated.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let pairs = rsplit(element.as_bytes(), b';');
    let pairs = pairs.filter_map(|pair| str::from_utf8(pair).ok()?.split_once('='));
    let mut values = pairs.filter(|(key, _)| key.trim_end().eq_ignore_ascii_case(name));
    let (_, value) = values.next()?;
    let value = value.trim_start();
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    values.next().is_none().then_some(inside.unwrap_or(value))
}

/// Returns the elements of a list from the right. Several header lines are one list.
fn elements(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().rev();
    let elements = lines.flat_map(|line| rsplit(line.as_bytes(), b','));
    let elements = elements.filter(|element| !element.is_empty());
    elements.map(|element| str::from_utf8(element).unwrap_or("unknown"))
}

/// Splits `text` from the right, outside of quotes. A quote that the client left open on the left changes nothing.
fn rsplit(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let mut is_quoted = false;
        let at = text.iter().enumerate().rposition(|(at, byte)| {
            is_quoted ^= *byte == b'"' && !is_escaped(&text[..at]);
            *byte == separator && !is_quoted
        });
        rest = at.map(|at| &text[..at]);
        Some(text[at.map_or(0, |at| at + 1)..].trim_ascii())
    })
}

/// Whether the byte after `before` is escaped by a backslash.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Parses an address with an optional port and optional brackets; an IPv4-mapped one becomes IPv4.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const FOR: &str = "x-forwarded-for";

    fn proxies() -> TrustedProxies {
        TrustedProxies::parse(&["10.0.0.0/8", "2001:db8::/32"]).unwrap()
    }

    /// Returns headers of these names and values.
    fn headers(lines: &[(&'static str, &[u8])]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &[u8])| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap())
        };
        lines.iter().map(line).collect()
    }

    fn client(lines: &[(&'static str, &str)]) -> Option<String> {
        let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let client = super::client(&headers(&lines), [10, 9, 9, 9].into(), &proxies());
        client.map(|address| address.to_string())
    }

    #[test]
    fn lists_are_read_from_the_right_up_to_the_first_address_that_is_not_trusted() {
        for (list, expected) in [
            ("198.51.100.1", "198.51.100.1"),
            ("6.6.6.6, 198.51.100.1", "198.51.100.1"),
            ("6.6.6.6, 198.51.100.1, 10.0.0.2, 10.0.0.3", "198.51.100.1"),
            ("6.6.6.6,198.51.100.1:4711 ,10.0.0.2:80", "198.51.100.1"),
            ("6.6.6.6, 2a00::1, 2001:db8::2, [2001:db8::3], [2001:db8::4]:80", "2a00::1"),
            ("6.6.6.6, [2a00::1]:80", "2a00::1"),
            ("6.6.6.6, ::ffff:198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"),
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("198.51.100.1,, 10.0.0.2, ", "198.51.100.1"),
        ] {
            assert_eq!(client(&[(FOR, list)]).as_deref(), Some(expected), "{list}");
        }
        assert_eq!(client(&[]), None);
    }

    #[test]
    fn garbage_ends_the_reading_with_the_last_good_address() {
        let garbage = [
            "nonsense",
            "unknown",
            "_hidden",
            "1.2.3",
            "1.2.3.4:x",
            "1.2.3.4:99999",
            "[2a00::1",
            "[2a00::1]x",
            "1.2.3.4 5",
            "::ffff:1.2.3.4.5",
            "\u{fc}",
        ];
        for text in garbage {
            let list = format!("6.6.6.6, {text}, 10.0.0.2, 10.0.0.3");
            assert_eq!(client(&[(FOR, &list)]).as_deref(), Some("10.0.0.2"), "{text}");
            assert_eq!(client(&[(FOR, text)]).as_deref(), Some("10.9.9.9"), "{text}");
            let list = format!("for=6.6.6.6, for=\"{text}\", for=10.0.0.2");
            assert_eq!(client(&[("forwarded", &list)]).as_deref(), Some("10.0.0.2"), "{text}");
        }
        assert_eq!(client(&[(FOR, "")]).as_deref(), Some("10.9.9.9"), "limited, not exempt");
    }

    #[test]
    fn several_lines_are_one_list() {
        let lines = [(FOR, "6.6.6.6"), (FOR, "198.51.100.1, 10.0.0.2"), (FOR, "10.0.0.3")];
        assert_eq!(client(&lines).as_deref(), Some("198.51.100.1"));
    }

    #[test]
    fn forwarded_names_the_client_unless_x_forwarded_for_does() {
        for (list, expected) in [
            ("for=198.51.100.1;proto=https, for=10.0.0.2", "198.51.100.1"),
            ("for=6.6.6.6, proto=http; For = \"[2a00::1]:99\" ;by=_x, for=10.0.0.2", "2a00::1"),
            ("for=\"198.51.100.1:80\";host=\"a,for=6.6.6.6\"", "198.51.100.1"),
            ("for=198.51.100.1;host=\"a;for=6.6.6.6\"", "198.51.100.1"),
            (r#"for=198.51.100.1;host="a\",for=6.6.6.6;b=\"""#, "198.51.100.1"),
            ("for=\"6.6.6.6, for=198.51.100.1", "198.51.100.1"),
            ("for=6.6.6.6;for=6.6.6.7", "10.9.9.9"),
            ("proto=https", "10.9.9.9"),
            ("198.51.100.1", "10.9.9.9"),
        ] {
            assert_eq!(client(&[("forwarded", list)]).as_deref(), Some(expected), "{list}");
        }
        let both = [("forwarded", "for=6.6.6.6"), (FOR, "198.51.100.1")];
        assert_eq!(client(&both).as_deref(), Some("198.51.100.1"));
    }

    #[test]
    fn the_scheme_is_that_of_the_client_at_the_outermost_trusted_proxy() {
        let over_tls =
            |name, value: &str| is_over_tls(&headers(&[(name, value.as_bytes())]), &proxies());
        for (name, value, expected) in [
            ("x-forwarded-proto", "https", true),
            ("x-forwarded-proto", "http, HTTPS", true),
            ("x-forwarded-proto", "https, http", false),
            ("forwarded", "for=198.51.100.1;proto=https, for=10.0.0.2;proto=http", true),
            ("forwarded", "for=198.51.100.1, for=10.0.0.2;proto=https", true),
            ("forwarded", "for=6.6.6.6;proto=https, for=198.51.100.1;proto=http", false),
            ("forwarded", "proto=\"https\"", true),
            ("forwarded", "for=198.51.100.1", false),
        ] {
            assert_eq!(over_tls(name, value), expected, "{name}: {value}");
        }
        assert!(!is_over_tls(&HeaderMap::new(), &proxies()));
        let both = headers(&[("forwarded", b"proto=https"), ("x-forwarded-proto", b"http")]);
        assert!(!is_over_tls(&both, &proxies()));
    }

    /// A public address of either version.
    fn address() -> impl Strategy<Value = IpAddr> {
        let v6 = any::<u128>()
            .prop_map(|bits| IpAddr::from(((0x2a00 << 112) | (bits >> 16)).to_be_bytes()));
        prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::from((bits | (1 << 31)).to_be_bytes())),
            v6
        ]
    }

    proptest! {
        /// Whatever a client sends, in the same line or in others, the proxies' part of the list decides.
        #[test]
        fn what_a_client_sends_does_not_change_its_address(
            sent in proptest::collection::vec(prop_oneof![0x20_u8..=0x7e, 0x80_u8..=0xff, Just(b','), Just(b'"'), Just(b'\\')], 0..60),
            address in address(),
            hops in 0_usize..4,
            is_own_line in any::<bool>(),
        ) {
            let node = match address {
                IpAddr::V4(v4) => v4.to_string(),
                IpAddr::V6(v6) => format!("[{v6}]"),
            };
            for (name, start, end) in [(FOR, "", ":99"), ("forwarded", "for=\"", "\";host=\"a,b\"")] {
                let hop = format!(", {start}10.0.0.1{end}");
                let written = format!("{start}{node}{end}{}", hop.repeat(hops));
                let list = [&sent[..], b", ", written.as_bytes()].concat();
                let lines = if is_own_line {
                    headers(&[(name, &sent), (name, written.as_bytes())])
                } else {
                    headers(&[(name, &list)])
                };
                let found = super::client(&lines, [10, 9, 9, 9].into(), &proxies());
                prop_assert_eq!(found, Some(address), "{}: {:?}", name, lines);
            }
        }

        /// No bytes are a reason to panic, and the result is the peer or an address of the list.
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(prop_oneof![Just(9_u8), 0x20_u8..=0x7e, 0x80_u8..=0xff], 0..200)) {
            for name in [FOR, "forwarded", "x-forwarded-proto"] {
                let lines = headers(&[(name, &bytes)]);
                super::client(&lines, [10, 9, 9, 9].into(), &proxies());
                is_over_tls(&lines, &proxies());
            }
        }
    }
}
