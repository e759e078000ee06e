//! The networks of trusted proxies.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// The prefix length of the IPv4-mapped IPv6 addresses, in bits.
const MAPPED_BITS: u8 = 96;

/// The networks whose proxies name the client of a connection or request.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses networks, such as `10.0.0.0/8`, and single addresses.
    ///
    /// # Errors
    ///
    /// Returns the first text that is neither.
    pub fn parse<T: AsRef<str>>(networks: &[T]) -> Result<Self, &str> {
        let texts = networks.iter().map(AsRef::as_ref);
        texts.map(|text| network(text).ok_or(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the address is of a trusted proxy. An IPv4-mapped address must be converted before.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

fn network(text: &str) -> Option<IpNet> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network = text.parse::<IpNet>().ok().or_else(address)?;
    match (network.prefix_len().checked_sub(MAPPED_BITS), network.addr().to_canonical()) {
        (Some(length), IpAddr::V4(mapped)) => Ipv4Net::new(mapped, length).ok().map(IpNet::V4),
        _ => Some(network),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_single_addresses_are_trusted() {
        let texts = ["10.1.0.0/16", "192.0.2.7", "2001:db8::/32", "::1", "::ffff:172.16.0.0/108"];
        let proxies = TrustedProxies::parse(&texts).unwrap();
        let trusted = ["10.1.255.255", "192.0.2.7", "2001:db8:1::1", "::1", "172.31.0.1"];
        let others = ["10.2.0.0", "192.0.2.8", "2001:db9::1", "::2", "172.32.0.1", "127.0.0.1"];
        let contains = |text: &&str| proxies.contains(text.parse().unwrap());
        assert_eq!(trusted.iter().filter(|text| !contains(text)).count(), 0);
        assert_eq!(others.iter().filter(|text| contains(text)).count(), 0);
        assert!(!TrustedProxies::default().contains(IpAddr::from([127, 0, 0, 1])));
    }

    #[test]
    fn a_text_that_is_no_network_is_returned() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "proxy.example", "10.0.0.1:80", "[::1]"] {
            assert_eq!(TrustedProxies::parse(&["::1", text]).unwrap_err(), text);
        }
    }
}
