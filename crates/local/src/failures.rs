//! In-memory counters of failed sign-ins.

use std::{hash::Hash, net::IpAddr, sync::Arc, time::Duration};

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
/// limit the least recently
/// used is evicted.
const COUNTS_MAX: u64 = 100_000;

/// The digest of a name, because the typed text may be long.
type Name = [u8; 32];

/// The failures of one key in the current window.
#[derive(Default)]
struct Count {
    since: Option<Timestamp>,
    failures: u32,
}

/// Counters by key.
type Counts<K> = Cache<K, Arc<Mutex<Count>>>;

/// Counts the failed sign-ins of this process.
pub struct CountedFailures {
    names: Counts<Name>,
    /// A cache of its own, so that many names from one address do not evict the counters by name.
    addresses: Counts<(Name, IpAddr)>,
    /// By the /48 of an IPv6 address, which a site gets whole.
    sites: Counts<(Name, IpAddr)>,
}

impl Default for CountedFailures {
    fn default() -> Self {
        Self { names: counts(), addresses: counts(), sites: counts() }
    }
}

fn counts<K: Hash + Eq + Send + Sync + 'static>() -> Counts<K> {
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
        let of_name = self.names.get_with(name, Arc::default);
        let of_address = from.map(|from| self.addresses.get_with((name, from), Arc::default));
        let of_site = site(from).map(|site| self.sites.get_with((name, site), Arc::default));
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
        take_one(self.names.get(&name));
        take_one(from.and_then(|from| self.addresses.get(&(name, from))));
        take_one(site(from).and_then(|site| self.sites.get(&(name, site))));
    }

    async fn reset(&self, name: &str, from: Option<IpAddr>) {
        let name = token_digest(name);
        take_one(self.names.get(&name));
        take_one(site(from).and_then(|site| self.sites.get(&(name, site))));
        if let Some(from) = from {
            self.addresses.invalidate(&(name, from));
        }
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
    use jiff::SignedDuration;
    use lodge_contract::samples::at;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    async fn failures(counted: &CountedFailures, name: &str, last: u8, seconds: i64) -> u32 {
        let mut failures = 0;
        while counted.count(name, Some(address(last)), at(seconds)).await.is_ok() {
            failures += 1;
            assert!(failures <= PER_NAME_MAX);
        }
        failures
    }

    #[tokio::test]
    async fn ten_failures_from_an_address_block_it_for_a_quarter_of_an_hour() {
        let counted = CountedFailures::default();
        assert_eq!(failures(&counted, "ada", 1, 0).await, PER_ADDRESS_MAX);
        let refused = counted.count("ada", Some(address(1)), at(60)).await;
        let Err(Error::TooMany { retry_after }) = refused else { panic!("{refused:?}") };
        assert_eq!(retry_after + Duration::from_mins(1), WINDOW);
        assert_eq!(failures(&counted, "ada", 2, 60).await, PER_ADDRESS_MAX, "another address");
        assert_eq!(failures(&counted, "grace", 1, 60).await, PER_ADDRESS_MAX, "another name");
        let later = 1 + i64::try_from(WINDOW.as_secs()).unwrap();
        assert_eq!(failures(&counted, "ada", 1, later).await, PER_ADDRESS_MAX);
    }

    #[tokio::test]
    async fn a_hundred_failures_block_a_name_for_all_addresses() {
        let counted = CountedFailures::default();
        let mut all = 0;
        for last in 0..20 {
            all += failures(&counted, "ada", last, 0).await;
        }
        assert_eq!(all, PER_NAME_MAX);
        assert!(counted.count("ada", None, at(1)).await.is_err());
        assert!(
            counted
                .count("ada", None, at(0) + SignedDuration::try_from(WINDOW).unwrap())
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn thirty_failures_block_the_48_of_an_ipv6_site_and_no_other() {
        let counted = CountedFailures::default();
        let from = |site: u16, subnet: u16| {
            Some(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, site, subnet, 0, 0, 0, 0)))
        };
        let mut allowed = 0;
        for subnet in 0..10 {
            for _ in 0..PER_ADDRESS_MAX {
                allowed += u32::from(counted.count("ada", from(1, subnet), at(0)).await.is_ok());
            }
        }
        assert_eq!(allowed, PER_SITE_MAX);
        counted.count("ada", from(2, 0), at(0)).await.unwrap();
        counted.revert("ada", from(1, 0));
        counted.count("ada", from(1, 9), at(0)).await.unwrap();
        assert!(counted.count("ada", from(1, 8), at(0)).await.is_err());
    }

    #[tokio::test]
    async fn a_failure_taken_back_allows_only_one_more() {
        let counted = CountedFailures::default();
        for _ in 0..PER_ADDRESS_MAX {
            counted.count("ada", Some(address(1)), at(0)).await.unwrap();
        }
        for _ in 0..3 {
            assert!(counted.count("ada", Some(address(1)), at(1)).await.is_err());
            counted.revert("ada", Some(address(1)));
            counted.count("ada", Some(address(1)), at(1)).await.unwrap();
        }
        assert!(counted.count("ada", Some(address(1)), at(1)).await.is_err());
    }

    #[tokio::test]
    async fn a_success_resets_its_own_address_and_no_other() {
        let counted = CountedFailures::default();
        for _ in 1..PER_ADDRESS_MAX {
            counted.count("ada", Some(address(1)), at(0)).await.unwrap();
        }
        counted.count("ada", Some(address(1)), at(1)).await.unwrap();
        counted.reset("ada", Some(address(1))).await;
        assert_eq!(failures(&counted, "ada", 2, 2).await, PER_ADDRESS_MAX);
        counted.count("ada", Some(address(1)), at(3)).await.unwrap();
        counted.reset("ada", Some(address(1))).await;
        assert!(counted.count("ada", Some(address(2)), at(4)).await.is_err());
    }
}
