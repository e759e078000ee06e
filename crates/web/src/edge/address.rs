//! The client of a request, as rate limits count it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

/// The remote address of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Peer {
    /// Whether the peer is a trusted proxy: one on loopback.
    pub(crate) fn is_trusted(self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }
}

/// The client of a request, behind any trusted proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// A process on this machine, without a proxy; not limited.
    Local,
    /// A remote address.
    Remote(IpAddr),
}

impl Client {
    /// Returns the peer or, behind a trusted (loopback) proxy, the last address in `X-Forwarded-For` or, without one,
    /// `Forwarded` (RFC 7239), which that proxy appended.
    pub(crate) fn of(peer: SocketAddr, headers: &HeaderMap) -> Self {
        let peer = peer.ip().to_canonical();
        if !peer.is_loopback() {
            return Self::Remote(peer);
        }
        let appended = last_forwarded_for(headers).or_else(|| last_forwarded(headers));
        match appended {
            None => Self::Local,
            // An unreadable address is limited by the address of the proxy, not exempt.
            Some(text) => Self::Remote(parse_address(&text).unwrap_or(peer)),
        }
    }

    /// Returns the key of rate limits: an IPv4 address or the /64 of an IPv6 address; `None` is not limited.
    pub(crate) fn limited_by(self) -> Option<IpAddr> {
        match self {
            Self::Local => None,
            Self::Remote(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                Some(IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)))
            }
            Self::Remote(address) => Some(address),
        }
    }
}

/// Whether a header shows that a proxy forwarded the request, even if none names the client.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_of_proxy = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded")
    };
    headers.keys().any(|name| is_of_proxy(name.as_str()))
}

fn last_forwarded_for(headers: &HeaderMap) -> Option<String> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?;
    Some(String::from_utf8_lossy(last.as_bytes()).rsplit(',').next()?.trim().to_owned())
}

fn last_forwarded(headers: &HeaderMap) -> Option<String> {
    let last = headers.get_all("forwarded").iter().next_back()?;
    let text = String::from_utf8_lossy(last.as_bytes());
    let element = text.rsplit(',').next()?;
    let by_for = element
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    Some(by_for.map_or_else(String::new, |(_, value)| value.trim().trim_matches('"').to_owned()))
}

/// Parses an address with an optional port and optional brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
    let brackets = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let bare = brackets.map_or(text, |(inside, _)| inside);
    let address = text.parse::<SocketAddr>().map(|address| address.ip());
    address.or_else(|_| bare.parse()).ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client(peer: &str, name: &'static str, value: &'static str) -> Client {
        let mut headers = HeaderMap::new();
        if !name.is_empty() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Client::of(peer.parse().unwrap(), &headers)
    }

    fn remote(address: &str) -> Client {
        Client::Remote(address.parse().unwrap())
    }

    #[test]
    fn only_a_loopback_peer_is_a_trusted_proxy() {
        assert_eq!(client("127.0.0.1:5", "", ""), Client::Local);
        assert_eq!(client("[::1]:5", "", ""), Client::Local);
        assert_eq!(client("192.0.2.1:5", "x-forwarded-for", "198.51.100.1"), remote("192.0.2.1"));
        assert_eq!(
            client("127.0.0.1:5", "x-forwarded-for", "198.51.100.1"),
            remote("198.51.100.1")
        );
    }

    #[test]
    fn the_address_appended_last_wins_over_what_the_client_sent() {
        assert_eq!(
            client("127.0.0.1:5", "x-forwarded-for", "127.0.0.1, 198.51.100.1"),
            remote("198.51.100.1")
        );
        assert_eq!(
            client(
                "127.0.0.1:5",
                "forwarded",
                "for=127.0.0.1, for=\"[2001:db8::1]:99\";proto=https"
            ),
            remote("2001:db8::1")
        );
        assert_eq!(
            client("127.0.0.1:5", "x-forwarded-for", "nonsense"),
            remote("127.0.0.1"),
            "limited, not exempt"
        );
    }

    #[test]
    fn an_ipv6_subscriber_is_one_client() {
        assert_eq!(remote("2001:db8::1").limited_by(), remote("2001:db8::ffff").limited_by());
        assert_ne!(remote("2001:db8:0:1::1").limited_by(), remote("2001:db8::1").limited_by());
    }
}
