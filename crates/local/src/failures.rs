//! In-memory counters of failed sign-ins.

use std::{hash::RandomState, net::IpAddr, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    failures::{Failures, PER_ADDRESS_MAX, PER_NAME_MAX, PER_SITE_MAX, WINDOW},
    network::site_of,
    secret::token_digest,
};
use lru::LruCache;
use parking_lot::Mutex;

/// Counted names, and as many pairs of a name and an address and of a name and a site: about 45 MB together. Past the
/// limit the least recently used is evicted.
const COUNTS_MAX: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

/// The digest of a name, because the typed text may be long.
type Name = [u8; 32];

/// The failures of one key in the current window.
#[derive(Default)]
struct Count {
    since: Option<Timestamp>,
    failures: u32,
}

/// Counters by name, and by the address or site that it was tried from. The default hasher does not withstand chosen
/// keys.
type Counts = LruCache<(Name, Option<IpAddr>), Count, RandomState>;

/// Counts the failed sign-ins of this process.
#[derive(Default)]
pub struct CountedFailures(Mutex<AllCounts>);

struct AllCounts {
    /// Without an address.
    names: Counts,
    /// A cache of its own, so that many names from one address do not evict the counters by name.
    addresses: Counts,
    /// By the /48 of an IPv6 address, which a site gets whole.
    sites: Counts,
}

impl Default for AllCounts {
    fn default() -> Self {
        let counts = || {
            let mut counts = Counts::unbounded_with_hasher(RandomState::new());
            counts.resize(COUNTS_MAX);
            counts
        };
        Self { names: counts(), addresses: counts(), sites: counts() }
    }
}

/// Returns the site of an IPv6 address.
fn site(from: Option<IpAddr>) -> Option<IpAddr> {
    from.filter(IpAddr::is_ipv6).map(site_of)
}

fn take_one(count: Option<&mut Count>) {
    if let Some(count) = count {
        count.failures = count.failures.saturating_sub(1);
    }
}

#[async_trait]
impl Failures for CountedFailures {
    async fn count(&self, name: &str, from: Option<IpAddr>, at: Timestamp) -> Result<()> {
        let name = token_digest(name);
        let AllCounts { names, addresses, sites } = &mut *self.0.lock();
        let of_name = names.get_or_insert_mut((name, None), Count::default);
        let of_site =
            site(from).map(|site| sites.get_or_insert_mut((name, Some(site)), Count::default));
        let of_address = from.map(|_| addresses.get_or_insert_mut((name, from), Count::default));
        of_name.may_grow(PER_NAME_MAX, at)?;
        let mut counts = vec![of_name];
        for (count, max) in [(of_site, PER_SITE_MAX), (of_address, PER_ADDRESS_MAX)] {
            let Some(count) = count else { continue };
            count.may_grow(max, at)?;
            counts.push(count);
        }
        for count in counts {
            count.failures += 1;
        }
        Ok(())
    }

    fn revert(&self, name: &str, from: Option<IpAddr>) {
        let name = token_digest(name);
        let AllCounts { names, addresses, sites } = &mut *self.0.lock();
        take_one(names.get_mut(&(name, None)));
        take_one(from.and_then(|_| addresses.get_mut(&(name, from))));
        take_one(site(from).and_then(|site| sites.get_mut(&(name, Some(site)))));
    }

    async fn reset(&self, name: &str, from: Option<IpAddr>) {
        let name = token_digest(name);
        let AllCounts { names, addresses, sites } = &mut *self.0.lock();
        take_one(names.get_mut(&(name, None)));
        take_one(site(from).and_then(|site| sites.get_mut(&(name, Some(site)))));
        addresses.pop(&(name, from));
    }
}

impl Count {
    /// Checks that one more failure is allowed; else fails with the time until it is.
    fn may_grow(&mut self, max: u32, at: Timestamp) -> Result<()> {
        let age = self
            .since
            .map(|since| Duration::try_from(at.duration_since(since)).unwrap_or_default());
        match age {
            Some(age) if age < WINDOW && self.failures >= max => {
                Err(Error::TooMany { retry_after: WINDOW.saturating_sub(age) })
            }
            Some(age) if age < WINDOW && self.failures > 0 => Ok(()),
            _ => {
                *self = Self { since: Some(at), failures: 0 };
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{Ready, ready},
        sync::Arc,
    };

    use super::*;

    fn failures() -> Ready<(Arc<dyn Failures>, ())> {
        ready((Arc::new(CountedFailures::default()), ()))
    }

    lodge_contract::failures_promises!(failures);
}
