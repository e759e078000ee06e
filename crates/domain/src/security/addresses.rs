//! What is recorded of the addresses of clients.

use std::{fmt::Write, net::IpAddr};

use serde::{Deserialize, Serialize};

use crate::secret::InstallationSecret;

/// The bytes of a keyed hash that are recorded.
const HASH_BYTES: usize = 8;

/// What security events record of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// A keyed hash: events of one client are recognized, and its address is not.
    Hash,
    /// The network: /24 of IPv4, /48 of IPv6.
    Truncated,
    /// Nothing.
    None,
}

impl Addresses {
    /// Returns what is recorded of an address; of this machine always that it is.
    pub fn origin(self, address: IpAddr, secret: &InstallationSecret) -> String {
        if address.is_loopback() {
            return "this machine".to_owned();
        }
        match self {
            Self::Hash => {
                // A client of IPv6 has a /64, as rate limits count it.
                let network = match address {
                    IpAddr::V4(address) => address.octets().to_vec(),
                    IpAddr::V6(address) => address.octets()[..8].to_vec(),
                };
                let hash = secret.sign("origin of a security event", &[&network]);
                hash[..HASH_BYTES].iter().fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                })
            }
            Self::Truncated => match address {
                IpAddr::V4(address) => {
                    let [a, b, c, _] = address.octets();
                    format!("{a}.{b}.{c}.0/24")
                }
                IpAddr::V6(address) => {
                    let [a, b, c, ..] = address.segments();
                    format!("{a:x}:{b:x}:{c:x}::/48")
                }
            },
            Self::None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_never_contains_the_address() {
        let secret = |byte| InstallationSecret::new([byte; 32]);
        let origin = |addresses: Addresses, address: &str, key: u8| {
            addresses.origin(address.parse().unwrap(), &secret(key))
        };
        let hash = |address, key| origin(Addresses::Hash, address, key);
        assert_eq!(hash("192.0.2.1", 1).len(), 16);
        assert_eq!(hash("192.0.2.1", 1), hash("192.0.2.1", 1));
        assert_ne!(hash("192.0.2.1", 1), hash("192.0.2.2", 1));
        assert_ne!(hash("192.0.2.1", 1), hash("192.0.2.1", 2), "the key matters");
        assert_eq!(hash("2001:db8::1", 1), hash("2001:db8::2", 1));
        assert_ne!(hash("2001:db8::1", 1), hash("2001:db8:0:1::1", 1));
        assert_eq!(origin(Addresses::Truncated, "192.0.2.1", 1), "192.0.2.0/24");
        assert_eq!(origin(Addresses::Truncated, "2001:db8:1:2::1", 1), "2001:db8:1::/48");
        assert_eq!(origin(Addresses::None, "192.0.2.1", 1), "");
        assert_eq!(origin(Addresses::Hash, "::1", 1), "this machine");
    }
}
