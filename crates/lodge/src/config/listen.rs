//! Addresses to listen on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize as _, Deserializer, de::Error};

/// Parses `ADDRESS:PORT`, where `localhost` is 127.0.0.1, or `:PORT`, which listens on all IPv4 addresses.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let ip = match host {
        "" => Some(Ipv4Addr::UNSPECIFIED),
        "localhost" => Some(Ipv4Addr::LOCALHOST),
        _ => None,
    };
    let named = ip.zip(port.parse().ok()).map(|(ip, port)| SocketAddr::new(IpAddr::V4(ip), port));
    named.or_else(|| text.parse().ok()).ok_or_else(|| {
        format!(
            "must be an address and a port, such as 127.0.0.1:8080, localhost:8080, [::1]:8080, or :8080 for all \
             IPv4 addresses, not {text:?}"
        )
    })
}

/// Deserializes a setting by [`parse`].
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ways_to_write_an_address_are_understood() {
        for (text, address) in [
            (":8080", "0.0.0.0:8080"),
            ("localhost:0", "127.0.0.1:0"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(parse(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["", ":", "8080", "localhost", "127.0.0.1", ":65536", "example.org:80", "::1"] {
            assert!(parse(text).unwrap_err().ends_with(&format!("not {text:?}")), "{text}");
        }
    }
}
