//! Pending handshakes. They have a small limit of their own, so that unauthenticated connections take no place of
//! authenticated ones. Past the limit the host with the most pending handshakes loses its oldest.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// A bounded set of pending handshakes.
pub(super) struct PendingHandshakes {
    max: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    next: u64,
    oldest_first: VecDeque<Entry>,
}

struct Entry {
    number: u64,
    host: IpAddr,
    /// Cancelled when this handshake is evicted.
    out: CancellationToken,
}

/// A pending handshake; dropping it releases its place.
pub(super) struct PendingHandshake {
    number: u64,
    out: CancellationToken,
    all: Arc<PendingHandshakes>,
}

impl PendingHandshakes {
    /// Creates a set of at most `max`.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), inside: Mutex::default() })
    }

    /// Adds a handshake. If the set is full, evicts the oldest of the host that has the most, and also returns that
    /// host: a single host cannot keep others out.
    pub(super) fn add(self: &Arc<Self>, from: IpAddr) -> (PendingHandshake, Option<IpAddr>) {
        let mut inside = self.inside.lock();
        let evicted = (inside.oldest_first.len() >= self.max).then(|| inside.evict()).flatten();
        (self.seat(&mut inside, from), evicted)
    }

    /// Adds a handshake unless the set is full.
    pub(super) fn try_add(self: &Arc<Self>, from: IpAddr) -> Option<PendingHandshake> {
        let mut inside = self.inside.lock();
        (inside.oldest_first.len() < self.max).then(|| self.seat(&mut inside, from))
    }

    fn seat(self: &Arc<Self>, inside: &mut Inside, from: IpAddr) -> PendingHandshake {
        let (number, out) = (inside.next, CancellationToken::new());
        inside.next += 1;
        inside.oldest_first.push_back(Entry { number, host: host(from), out: out.clone() });
        PendingHandshake { number, out, all: Arc::clone(self) }
    }
}

impl Inside {
    /// Evicts the oldest of the host that has the most; among equal hosts, the oldest of all.
    fn evict(&mut self) -> Option<IpAddr> {
        let mut held = HashMap::new();
        for place in &self.oldest_first {
            *held.entry(place.host).or_insert(0_usize) += 1;
        }
        let most = held.values().max()?;
        let oldest = self.oldest_first.iter().position(|place| held.get(&place.host) == Some(most));
        let Entry { host, out, .. } = self.oldest_first.remove(oldest?)?;
        out.cancel();
        Some(host)
    }
}

/// Returns the host of an address: an IPv4 address, or the /64 of an IPv6 address, which one subscriber owns.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl PendingHandshake {
    /// Runs the handshake and releases the place; returns `None` if it is evicted first.
    pub(super) async fn run_unless_evicted<T>(self, meeting: impl Future<Output = T>) -> Option<T> {
        self.out.run_until_cancelled(meeting).await
    }
}

impl Drop for PendingHandshake {
    fn drop(&mut self) {
        let mut inside = self.all.inside.lock();
        // Sorted by number.
        if let Ok(at) = inside.oldest_first.binary_search_by_key(&self.number, |place| place.number)
        {
            inside.oldest_first.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_host_with_the_most_pending_handshakes_loses_its_oldest() {
        let clients = PendingHandshakes::new(5);
        let (flood, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let enter = |from| clients.add(from);
        let inside: Vec<_> = [other, flood, flood, other, flood].map(enter).into();
        let (next, evicted) = enter(flood);
        assert_eq!(evicted, Some(flood));
        assert!(inside[1].0.out.is_cancelled() && !inside[0].0.out.is_cancelled());
        assert!(clients.try_add(other).is_none());
        drop(next);
        // With two of each, the oldest of all.
        let _room = clients.try_add(address("192.0.2.3")).unwrap();
        assert_eq!(enter(flood).1, Some(other));
        assert!(inside[0].0.out.is_cancelled());
    }

    #[test]
    fn a_subscribers_addresses_are_one_host() {
        assert_eq!(host(address("2001:db8:0:1::1")), host(address("2001:db8:0:1:ffff::2")));
        assert_ne!(host(address("2001:db8:0:1::1")), host(address("2001:db8:0:2::1")));
        assert_eq!(host(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
