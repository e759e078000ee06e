//! Networks of client addresses.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network that belongs to one site: of an IPv6 address its /48, which a site gets whole, or the IPv4
/// address itself.
pub fn site_of(address: IpAddr) -> IpAddr {
    let IpAddr::V6(address) = address else { return address };
    let [a, b, c, ..] = address.segments();
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).into()
}
