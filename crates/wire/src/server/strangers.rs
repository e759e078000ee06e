//! Those who have not proved their key. They have few places of their own, so that they take none from those
//! who have it; and whoever has most of these places makes room for whoever comes anew.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// A bounded number of them.
pub(super) struct Strangers {
    max: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    next: u64,
    oldest_first: VecDeque<Place>,
}

struct Place {
    number: u64,
    host: IpAddr,
    /// That there is no room for this one any more.
    out: CancellationToken,
}

/// One of them.
pub(super) struct Stranger {
    number: u64,
    out: CancellationToken,
    all: Arc<Strangers>,
}

impl Strangers {
    /// At most `max` at once.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), inside: Mutex::default() })
    }

    /// Lets one more in. If there are too many, one goes, and from where it came is told, too: the oldest of
    /// the host that has the most, so that no host alone keeps others out.
    pub(super) fn enter(self: &Arc<Self>, from: IpAddr) -> (Stranger, Option<IpAddr>) {
        let mut inside = self.inside.lock();
        let evicted = (inside.oldest_first.len() >= self.max).then(|| inside.evict()).flatten();
        (self.seat(&mut inside, from), evicted)
    }

    /// Lets one more in where nobody has to go for it.
    pub(super) fn enter_if_there_is_room(self: &Arc<Self>, from: IpAddr) -> Option<Stranger> {
        let mut inside = self.inside.lock();
        (inside.oldest_first.len() < self.max).then(|| self.seat(&mut inside, from))
    }

    fn seat(self: &Arc<Self>, inside: &mut Inside, from: IpAddr) -> Stranger {
        let (number, out) = (inside.next, CancellationToken::new());
        inside.next += 1;
        inside.oldest_first.push_back(Place { number, host: host(from), out: out.clone() });
        Stranger { number, out, all: Arc::clone(self) }
    }
}

impl Inside {
    /// Has the oldest of the host that has the most go; of hosts that have as many, the oldest of all.
    fn evict(&mut self) -> Option<IpAddr> {
        let mut held = HashMap::new();
        for place in &self.oldest_first {
            *held.entry(place.host).or_insert(0_usize) += 1;
        }
        let most = held.values().max()?;
        let oldest = self.oldest_first.iter().position(|place| held.get(&place.host) == Some(most));
        let Place { host, out, .. } = self.oldest_first.remove(oldest?)?;
        out.cancel();
        Some(host)
    }
}

/// Whom an address stands for: whoever has one of IPv6 has its whole /64.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl Stranger {
    /// What comes of `meeting`, with which this one is none any more; `None` if others need the room.
    pub(super) async fn while_there_is_room<T>(
        self,
        meeting: impl Future<Output = T>,
    ) -> Option<T> {
        self.out.run_until_cancelled(meeting).await
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut inside = self.all.inside.lock();
        // Their numbers rise.
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
    fn who_has_the_most_places_makes_room() {
        let strangers = Strangers::new(5);
        let (flood, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let enter = |from| strangers.enter(from);
        let inside: Vec<_> = [other, flood, flood, other, flood].map(enter).into();
        let (next, evicted) = enter(flood);
        assert_eq!(evicted, Some(flood));
        assert!(inside[1].0.out.is_cancelled() && !inside[0].0.out.is_cancelled());
        assert!(strangers.enter_if_there_is_room(other).is_none());
        drop(next);
        // With two of each, whoever has been here longest.
        let _room = strangers.enter_if_there_is_room(address("192.0.2.3")).unwrap();
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
