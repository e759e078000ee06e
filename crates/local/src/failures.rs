//! In-memory counters of failed sign-ins.

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    failures::{Failures, PER_ADDRESS_MAX, PER_NAME_MAX, PER_SITE_MAX, WINDOW},
    network::site_of,
    secret::token_digest,
};
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;

/// Counted names, and as many pairs of a name and an address and of a name and a site: about 45 MB together. Past the
/// limit the least recently used is evicted.
const COUNTS_MAX: u64 = 100_000;

/// The digest of a name, because the typed text may be long.
type Name = [u8; 32];

/// The failures of one key in the current window.
#[derive(Default)]
struct Count {
    since: Option<Timestamp>,
    failures: u32,
}

/// Counters by name, and by the address or site that it was tried from.
type Counts = Cache<(Name, Option<IpAddr>), Arc<Mutex<Count>>>;

/// Counts the failed sign-ins of this process.
pub struct CountedFailures {
    /// Without an address.
    names: Counts,
    /// A cache of its own, so that many names from one address do not evict the counters by name.
    addresses: Counts,
    /// By the /48 of an IPv6 address, which a site gets whole.
    sites: Counts,
}

impl Default for CountedFailures {
    fn default() -> Self {
        Self { names: counts(), addresses: counts(), sites: counts() }
    }
}

fn counts() -> Counts {
    Cache::builder()
        .eviction_policy(EvictionPolicy::lru())
        .max_capacity(COUNTS_MAX)
        .time_to_idle(WINDOW)
        .build()
}

/// Returns the site of an IPv6 address.
fn site(from: Option<IpAddr>) -> Option<IpAddr> {
    from.filter(IpAddr::is_ipv6).map(site_of)
}

fn take_one(count: Option<Arc<Mutex<Count>>>) {
    if let Some(count) = count {
        let mut count = count.lock();
        count.failures = count.failures.saturating_sub(1);
    }
}

#[async_trait]
impl Failures for CountedFailures {
    async fn count(&self, name: &str, from: Option<IpAddr>, at: Timestamp) -> Result<()> {
        let name = token_digest(name);
        let of_name = self.names.get_with((name, None), Arc::default);
        let of_address = from.map(|_| self.addresses.get_with((name, from), Arc::default));
        let of_site = site(from).map(|site| self.sites.get_with((name, Some(site)), Arc::default));
        // Locked always in this order, and only for this block.
        let mut of_name = of_name.lock();
        let mut of_site = of_site.as_ref().map(|count| count.lock());
        let mut of_address = of_address.as_ref().map(|count| count.lock());
        of_name.may_grow(PER_NAME_MAX, at)?;
        if let Some(count) = &mut of_site {
            count.may_grow(PER_SITE_MAX, at)?;
        }
        if let Some(count) = &mut of_address {
            count.may_grow(PER_ADDRESS_MAX, at)?;
        }
        let counts = [Some(of_name), of_site, of_address];
        counts.into_iter().flatten().for_each(|mut count| count.failures += 1);
        Ok(())
    }

    fn revert(&self, name: &str, from: Option<IpAddr>) {
        let name = token_digest(name);
        take_one(self.names.get(&(name, None)));
        take_one(from.and_then(|_| self.addresses.get(&(name, from))));
        take_one(site(from).and_then(|site| self.sites.get(&(name, Some(site)))));
    }

    async fn reset(&self, name: &str, from: Option<IpAddr>) {
        let name = token_digest(name);
        take_one(self.names.get(&(name, None)));
        take_one(site(from).and_then(|site| self.sites.get(&(name, Some(site)))));
        self.addresses.invalidate(&(name, from));
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
    use std::future::{Ready, ready};

    use super::*;

    fn failures() -> Ready<(Arc<dyn Failures>, ())> {
        ready((Arc::new(CountedFailures::default()), ()))
    }

    lodge_contract::failures_promises!(failures);
}
