//! Limits: per client address, for what is costly or can be abused; and for everybody together.

use std::{net::IpAddr, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    DefaultDirectRateLimiter, Quota,
    clock::{Clock, DefaultClock},
};
use lodge_domain::{Error, Result};
use moka::{policy::EvictionPolicy, sync::Cache};

use super::address::Client;

/// Addresses that are remembered at once; past that the longest unseen is forgotten.
const ADDRESSES_MAX: u64 = 100_000;

/// Lets each client address do a thing so often a minute (GCRA), all of a minute's share at once if it
/// likes.
pub struct AddressLimit {
    quota: Quota,
    clock: DefaultClock,
    table: Cache<IpAddr, Arc<DefaultDirectRateLimiter>>,
}

impl AddressLimit {
    /// A limit of `per_minute`; with 0 nothing is limited.
    pub fn per_minute(per_minute: u32) -> Option<Self> {
        let quota = Quota::per_minute(NonZeroU32::new(per_minute)?);
        // Least recently used: to refuse new addresses a place would leave them unlimited.
        let table = Cache::builder()
            .eviction_policy(EvictionPolicy::lru())
            .max_capacity(ADDRESSES_MAX)
            .time_to_idle(Duration::from_mins(2))
            .build();
        Some(Self { quota, clock: DefaultClock::default(), table })
    }

    /// Takes one from the client's share, or says when there is one again.
    pub fn take(&self, client: Client) -> Result<()> {
        self.take_many(client, 1)
    }

    /// Takes `count`; more than a whole share is never to be had.
    pub fn take_many(&self, client: Client, count: u32) -> Result<()> {
        let (Some(address), Some(count)) = (client.limited_by(), NonZeroU32::new(count)) else {
            return Ok(());
        };
        let limiter =
            self.table.get_with(address, || Arc::new(DefaultDirectRateLimiter::direct(self.quota)));
        match limiter.check_n(count) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(until)) => {
                Err(Error::TooMany { retry_after: until.wait_time_from(self.clock.now()) })
            }
            Err(_) => Err(Error::invalid(
                "links",
                format!("may be at most {} at once without an API key", self.quota.burst_size()),
            )),
        }
    }
}

/// Parts of a second whose share everybody may take at once.
const BURST_PER_SECOND: u32 = 10;

/// Lets everybody together do a thing so often a second (GCRA), a tenth of a second's share at once.
pub struct RateLimit {
    limiter: DefaultDirectRateLimiter,
    clock: DefaultClock,
}

impl RateLimit {
    /// A limit of `per_second`; with 0 nothing is limited.
    pub fn per_second(per_second: u32) -> Option<Self> {
        let share = NonZeroU32::new(per_second)?;
        let burst = NonZeroU32::new(per_second / BURST_PER_SECOND).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(share).allow_burst(burst);
        Some(Self {
            limiter: DefaultDirectRateLimiter::direct(quota),
            clock: DefaultClock::default(),
        })
    }

    /// Takes one, or says when there is one again.
    pub fn take(&self) -> Result<()> {
        self.limiter.check().map_err(|until| Error::Unavailable {
            retry_after: until.wait_time_from(self.clock.now()),
            cause: "more is asked for than the operator lets in".into(),
        })
    }
}

/// Takes from a limit, if there is one.
pub fn take(limit: Option<&AddressLimit>, client: Client) -> Result<()> {
    limit.map_or(Ok(()), |limit| limit.take(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_whole_share_at_once_is_refused() {
        let limit = AddressLimit::per_minute(3).unwrap();
        let client = Client::Remote("192.0.2.1".parse().unwrap());
        assert!(matches!(limit.take_many(client, 4), Err(Error::Invalid { .. })));
        limit.take_many(client, 3).unwrap();
        assert!(matches!(limit.take_many(client, 1), Err(Error::TooMany { .. })));
    }

    #[test]
    fn everybody_together_takes_a_tenth_of_a_second_at_once() {
        let limit = RateLimit::per_second(20).unwrap();
        // More than two if the test itself is held up.
        let taken = (0..1_000).take_while(|_| limit.take().is_ok()).count();
        assert!((2..1_000).contains(&taken), "{taken}");
        assert!(RateLimit::per_second(1).unwrap().take().is_ok());
        assert!(RateLimit::per_second(0).is_none());
    }

    #[test]
    fn an_address_is_limited_and_others_and_this_machine_are_not() {
        let limit = AddressLimit::per_minute(3).unwrap();
        let client = |text: &str| Client::Remote(text.parse().unwrap());
        for _ in 0..3 {
            limit.take(client("192.0.2.1")).unwrap();
        }
        assert!(matches!(limit.take(client("192.0.2.1")), Err(Error::TooMany { .. })));
        limit.take(client("192.0.2.2")).unwrap();
        for _ in 0..100 {
            limit.take(Client::Local).unwrap();
        }
    }
}
