//! The client of a request, as rate limits count it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use lodge_domain::network::site_of;

use super::{forwarded, proxies::TrustedProxies, proxy_protocol::Source};

/// The remote end of a connection: of its socket, or as a trusted proxy named it in a PROXY header.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    address: SocketAddr,
    is_trusted: bool,
    is_local: bool,
}

impl Peer {
    /// The remote end of a socket.
    pub(crate) fn of_socket(address: SocketAddr, proxies: &TrustedProxies) -> Self {
        let ip = address.ip().to_canonical();
        let is_trusted = proxies.contains(ip);
        Self { address, is_trusted, is_local: is_trusted && ip.is_loopback() }
    }

    /// The remote end of a connection that this proxy forwards from `source`.
    pub(crate) fn forwarding(self, source: Source, proxies: &TrustedProxies) -> Self {
        match source {
            Source::Proxy => self,
            // The client has no address. Its requests may come through the proxy unread, with any header.
            Source::Unknown => Self { is_trusted: false, is_local: false, ..self },
            Source::Client(address) => {
                Self { is_local: false, ..Self::of_socket(address, proxies) }
            }
        }
    }

    /// Returns the address and the port.
    pub(crate) fn address(self) -> SocketAddr {
        self.address
    }

    /// Returns the address; an IPv4-mapped one as IPv4.
    fn ip(self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// Whether the peer is a trusted proxy, whose headers name the client.
    pub(crate) fn is_trusted(self) -> bool {
        self.is_trusted
    }

    /// Returns the key of the limit of connections; a trusted proxy is not limited, because it has many clients.
    pub(crate) fn limited_by(self) -> Option<IpAddr> {
        if self.is_trusted { None } else { Client::Remote(self.ip()).limited_by() }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

/// The client of a request, behind any trusted proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// A process on this machine, without a proxy; not limited.
    Local,
    /// A remote address.
    Remote(IpAddr),
}

impl Client {
    /// Returns the peer or, behind a trusted proxy, the client that its headers name.
    pub(crate) fn of(peer: Peer, headers: &HeaderMap, proxies: &TrustedProxies) -> Self {
        let named =
            if peer.is_trusted { forwarded::client(headers, peer.ip(), proxies) } else { None };
        match named {
            Some(client) => Self::Remote(client),
            None if peer.is_local => Self::Local,
            None => Self::Remote(peer.ip()),
        }
    }

    /// Returns the address; a loopback address for this machine.
    pub(crate) fn address(self) -> IpAddr {
        match self {
            Self::Local => IpAddr::from([127, 0, 0, 1]),
            Self::Remote(address) => address,
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

impl Client {
    /// Returns the key of shares of memory and places: an IPv4 address or the /48 of an IPv6 address; `None` is not
    /// limited.
    pub(crate) fn site(self) -> Option<IpAddr> {
        self.limited_by().map(site_of)
    }
}

/// Whether a header shows that a proxy forwarded the request, even if none names the client.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_of_proxy = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded")
    };
    headers.keys().any(|name| is_of_proxy(name.as_str()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies::parse(&["127.0.0.0/8", "::1", "10.0.0.0/8"]).unwrap()
    }

    fn peer(address: &str) -> Peer {
        Peer::of_socket(address.parse().unwrap(), &proxies())
    }

    fn client(peer: Peer, forwarded_for: &'static str) -> Client {
        let mut headers = HeaderMap::new();
        if !forwarded_for.is_empty() {
            headers.insert("x-forwarded-for", HeaderValue::from_static(forwarded_for));
        }
        Client::of(peer, &headers, &proxies())
    }

    fn remote(address: &str) -> Client {
        Client::Remote(address.parse().unwrap())
    }

    #[test]
    fn only_a_trusted_proxy_names_the_client() {
        for (address, without, with) in [
            ("127.0.0.1:5", Client::Local, remote("198.51.100.1")),
            ("[::1]:5", Client::Local, remote("198.51.100.1")),
            ("10.1.2.3:5", remote("10.1.2.3"), remote("198.51.100.1")),
            ("[::ffff:10.1.2.3]:5", remote("10.1.2.3"), remote("198.51.100.1")),
            ("192.0.2.1:5", remote("192.0.2.1"), remote("192.0.2.1")),
        ] {
            assert_eq!(client(peer(address), ""), without, "{address}");
            assert_eq!(client(peer(address), "198.51.100.1"), with, "{address}");
        }
        let limited = client(peer("127.0.0.1:5"), "nonsense");
        assert_eq!(limited, remote("127.0.0.1"), "limited, not exempt");
    }

    #[test]
    fn no_client_behind_a_proxy_is_a_local_process() {
        let proxy = peer("127.0.0.1:5");
        let named =
            |address: &str| proxy.forwarding(Source::Client(address.parse().unwrap()), &proxies());
        assert_eq!(client(named("127.0.0.1:6"), ""), remote("127.0.0.1"));
        assert_eq!(client(named("192.0.2.1:6"), "198.51.100.1"), remote("192.0.2.1"));
        assert_eq!(client(named("10.0.0.1:6"), "198.51.100.1"), remote("198.51.100.1"));
        let unknown = proxy.forwarding(Source::Unknown, &proxies());
        assert_eq!(client(unknown, "198.51.100.1"), remote("127.0.0.1"));
        assert_eq!(client(proxy.forwarding(Source::Proxy, &proxies()), ""), Client::Local);
    }

    #[test]
    fn connections_of_trusted_proxies_are_not_limited() {
        let of = |address: &str| peer(address).limited_by();
        assert_eq!([of("127.0.0.1:5"), of("10.0.0.1:5")], [None; 2]);
        assert_eq!(of("[::ffff:192.0.2.1]:5"), of("192.0.2.1:6"));
        assert_eq!(of("[2001:db8::1]:5"), of("[2001:db8::ffff]:6"));
        assert_ne!(of("[2001:db8::1]:5"), of("[2001:db8:0:1::1]:5"));
    }

    #[test]
    fn an_ipv6_subscriber_is_one_client() {
        assert_eq!(remote("2001:db8::1").limited_by(), remote("2001:db8::ffff").limited_by());
        assert_ne!(remote("2001:db8:0:1::1").limited_by(), remote("2001:db8::1").limited_by());
    }
}
