//! Public IP addresses: where an admin who names a host may make this server send requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Addresses that are not one host on the internet, by IANA's registry of special-purpose addresses.
const NOT_PUBLIC_V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),       // this host, this network
    v4([10, 0, 0, 0], 8),      // private
    v4([100, 64, 0, 0], 10),   // behind carriers' NAT
    v4([127, 0, 0, 0], 8),     // loopback
    v4([169, 254, 0, 0], 16),  // link-local; clouds serve credentials there
    v4([172, 16, 0, 0], 12),   // private
    v4([192, 0, 0, 0], 24),    // protocol assignments
    v4([192, 0, 2, 0], 24),    // documentation
    v4([192, 88, 99, 0], 24),  // 6to4 relays
    v4([192, 168, 0, 0], 16),  // private
    v4([198, 18, 0, 0], 15),   // benchmarks
    v4([198, 51, 100, 0], 24), // documentation
    v4([203, 0, 113, 0], 24),  // documentation
    v4([224, 0, 0, 0], 4),     // multicast
    v4([240, 0, 0, 0], 4),     // reserved, and broadcast
];

/// The only range of addresses of single hosts.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0], 3);

/// The parts of [`GLOBAL_UNICAST`] that are not public.
const NOT_PUBLIC_V6: [Ipv6Net; 3] = [
    v6([0x2001, 0, 0, 0], 23),     // protocol assignments, such as Teredo
    v6([0x2001, 0xdb8, 0, 0], 32), // documentation
    v6([0x3fff, 0, 0, 0], 20),     // documentation
];

/// NAT64's prefix: the last four bytes of such an address are an IPv4 address.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0], 96);

/// 6to4's prefix: the four bytes after it are an IPv4 address.
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0], 16);

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b, c, d]: [u16; 4], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), length)
}

/// Whether an address is of a host on the internet. An embedded IPv4 address is checked as such.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => is_public_v4(address),
            None => {
                GLOBAL_UNICAST.contains(&address)
                    && !NOT_PUBLIC_V6.iter().any(|net| net.contains(&address))
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|net| net.contains(&address))
}

/// The IPv4 address that is embedded in an IPv6 address.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let bits = address.to_bits();
    let shift = match address {
        nat64 if NAT64.contains(&nat64) => 0,
        relayed if SIX_TO_FOUR.contains(&relayed) => 80,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "32 of its bits are the address")]
    Some(Ipv4Addr::from_bits((bits >> shift) as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn only_hosts_on_the_internet_are_public() {
        let hosts = "
            1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
            169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 198.17.255.255 198.20.0.0
            223.255.255.255 2606:4700:4700::1111 2001:200::1 2a00:1450:4001::1";
        for address in hosts.split_whitespace() {
            assert!(public(address), "{address}");
        }
        let special_purpose = "
            0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1
            192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
            239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 100::1 64:ff9b:1::a00:1
            2001::1 2001:2::1 2001:db8::1 3fff::1 5f00::1 fc00::1 fdff::1 fe80::1 fec0::1 ff02::1";
        for address in special_purpose.split_whitespace() {
            assert!(!public(address), "{address}");
        }
    }

    proptest! {
        /// IPv4-mapped, NAT64 and 6to4 addresses are as public as the IPv4 address in them.
        #[test]
        fn an_embedded_ipv4_address_is_checked_as_such(
            bits in prop_oneof![any::<u32>(), (0_u32..1 << 16).prop_map(|low| 0x7f00_0000 | low), Just(0xa9fe_a9fe)],
            low in any::<u128>(),
        ) {
            let v4 = Ipv4Addr::from_bits(bits);
            let mapped = v4.to_ipv6_mapped();
            let nat64 = Ipv6Addr::from_bits((0x64_ff9b << 96) | u128::from(bits));
            let relayed = Ipv6Addr::from_bits((0x2002 << 112) | (u128::from(bits) << 80) | (low >> 48));
            for v6 in [mapped, nat64, relayed] {
                prop_assert_eq!(is_public(v6.into()), is_public(v4.into()), "{} {}", v4, v6);
            }
        }

        /// Addresses that the standard library calls private, link-local and so on are never public.
        #[test]
        fn special_addresses_of_the_standard_library_are_not_public(bits in any::<u32>(), wide in any::<u128>()) {
            let (v4, v6) = (Ipv4Addr::from_bits(bits), Ipv6Addr::from_bits(wide));
            let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified();
            prop_assert!(!(is_special && is_public(v4.into())), "{}", v4);
            let is_special = v6.is_loopback() || v6.is_multicast() || v6.is_unspecified()
                || v6.is_unique_local() || v6.is_unicast_link_local();
            prop_assert!(!(is_special && is_public(v6.into())), "{}", v6);
        }
    }
}
