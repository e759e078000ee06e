//! Rate limits: per client address, for costly or abusable requests, and for all clients together.

use std::{
    hash::{Hash, RandomState},
    net::IpAddr,
    num::{NonZeroU32, NonZeroUsize},
    time::{Duration, Instant},
};

use governor::{
    DefaultDirectRateLimiter, Quota,
    clock::{Clock, DefaultClock},
};
use http::StatusCode;
use lodge_domain::{Error, Result};
use lru::LruCache;
use parking_lot::Mutex;

use super::address::Client;
use crate::error::Problem;

/// The keys of one limit in memory; past this the least recently used is evicted.
const REMEMBERED_MAX: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

/// A rate limit per key (GCRA). The burst is the share of one minute.
pub(crate) struct KeyedRateLimit<K> {
    quota: Quota,
    clock: DefaultClock,
    // LRU: a policy that rejects new entries would leave new keys unlimited.
    // The default hasher does not withstand chosen keys, such as addresses.
    table: Mutex<LruCache<K, DefaultDirectRateLimiter, RandomState>>,
}

impl<K: Hash + Eq> KeyedRateLimit<K> {
    /// A limit of `per_minute`; `None` for 0, which is no limit.
    pub(crate) fn per_minute(per_minute: u32) -> Option<Self> {
        Some(Self::new(Quota::per_minute(NonZeroU32::new(per_minute)?)))
    }

    /// A limit of `per_day`; `None` for 0, which is no limit.
    pub(crate) fn per_day(per_day: u32) -> Option<Self> {
        const DAY: Duration = Duration::from_hours(24);
        let burst = NonZeroU32::new(per_day)?;
        Some(Self::new(Quota::with_period(DAY / per_day)?.allow_burst(burst)))
    }

    fn new(quota: Quota) -> Self {
        let mut table = LruCache::unbounded_with_hasher(RandomState::new());
        table.resize(REMEMBERED_MAX);
        Self { quota, clock: DefaultClock::default(), table: Mutex::new(table) }
    }

    /// Takes one unit from the share of a key; [`Error::TooMany`] says when to retry.
    pub(crate) fn take_one(&self, of: K) -> Result<()> {
        // A share is at least 1.
        self.take_some(of, NonZeroU32::MIN, |_| Error::internal("a rate limit with a share of 0"))
    }

    /// Takes `count` units, all or none; `too_many` makes the error of a `count` above the whole share.
    pub(crate) fn take_some(
        &self,
        of: K,
        count: NonZeroU32,
        too_many: impl FnOnce(u32) -> Error,
    ) -> Result<()> {
        let mut table = self.table.lock();
        let limiter = table.get_or_insert(of, || DefaultDirectRateLimiter::direct(self.quota));
        match limiter.check_n(count) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(until)) => {
                Err(Error::TooMany { retry_after: until.wait_time_from(self.clock.now()) })
            }
            Err(_) => Err(too_many(self.quota.burst_size().get())),
        }
    }
}

/// A rate limit per client address.
pub(crate) type AddressLimit = KeyedRateLimit<IpAddr>;

impl AddressLimit {
    /// Takes one unit from the client's share; [`Error::TooMany`] says when to retry.
    pub(crate) fn take(&self, client: Client) -> Result<()> {
        client.limited_by().map_or(Ok(()), |address| self.take_one(address))
    }

    /// Takes `count` units, all or none. A `count` above the whole share can never succeed: `too_many` makes the error
    /// from the size of a share.
    pub(crate) fn take_many(
        &self,
        client: Client,
        count: u32,
        too_many: impl FnOnce(u32) -> Error,
    ) -> Result<()> {
        let (Some(address), Some(count)) = (client.limited_by(), NonZeroU32::new(count)) else {
            return Ok(());
        };
        self.take_some(address, count, too_many)
    }
}

/// The unused time that may be taken later: the burst, in time.
const SAVED: Duration = Duration::from_millis(100);

/// The longest time that one batch may occupy in advance, in seconds.
const AHEAD_MAX_S: u32 = 10;

/// A rate limit for all clients together, with a burst of a tenth of a second. A batch is admitted whole as soon as one
/// unit is free, and the next request waits until the share of the batch has passed. So neither batches nor single
/// requests starve, as batches would in a limiter that admits no more than its saved burst.
pub(crate) struct SharedRateLimit {
    per_second: NonZeroU32,
    /// The time at which all admitted units are paid for.
    free_at: Mutex<Option<Instant>>,
}

impl SharedRateLimit {
    /// A limit of `per_second`; `None` for 0, which is no limit.
    pub(crate) fn per_second(per_second: u32) -> Option<Self> {
        Some(Self { per_second: NonZeroU32::new(per_second)?, free_at: Mutex::default() })
    }

    /// The largest batch that can be admitted.
    pub(crate) fn most(&self) -> u32 {
        self.per_second.get().saturating_mul(AHEAD_MAX_S)
    }

    /// Takes `count` units, all or none; the error says when to retry. A refusal is expected, so it has no cause for
    /// the log.
    pub(crate) fn take(&self, count: u32) -> Result<(), Problem> {
        self.take_at(count, Instant::now())
    }

    fn take_at(&self, count: u32, now: Instant) -> Result<(), Problem> {
        let saved = now.checked_sub(SAVED).unwrap_or(now);
        let mut free_at = self.free_at.lock();
        let from = free_at.map_or(saved, |free_at| free_at.max(saved));
        if from >= now {
            let detail =
                "the rate limit of this server is exceeded; retry after the time in Retry-After";
            let retry_after = Some(from - now);
            let refused = Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
            return Err(Problem { retry_after, ..refused });
        }
        let share = u64::from(count) * 1_000_000_000 / u64::from(self.per_second.get());
        *free_at = Some(from + Duration::from_nanos(share));
        Ok(())
    }
}

/// Takes one unit from an optional limit.
pub(crate) fn take(limit: Option<&AddressLimit>, client: Client) -> Result<()> {
    limit.map_or(Ok(()), |limit| limit.take(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_whole_share_at_once_is_refused() {
        let limit = AddressLimit::per_minute(3).unwrap();
        let client = Client::Remote("192.0.2.1".parse().unwrap());
        let take = |count| {
            limit.take_many(client, count, |most| Error::invalid("body", format!("{most} lines")))
        };
        assert_eq!(take(4).unwrap_err().to_string(), "body: 3 lines");
        take(3).unwrap();
        assert!(matches!(take(1), Err(Error::TooMany { .. })));
    }

    #[test]
    fn a_share_of_a_day_is_a_burst_that_does_not_come_back_within_minutes() {
        let limit = KeyedRateLimit::per_day(5).unwrap();
        let results: Vec<bool> = (0..7).map(|_| limit.take_one(1).is_ok()).collect();
        assert_eq!(results, [true, true, true, true, true, false, false]);
        let Err(Error::TooMany { retry_after }) = limit.take_one(1) else { panic!("admitted") };
        assert!(retry_after > Duration::from_hours(4), "{retry_after:?}");
        limit.take_one(2).unwrap();
    }

    #[test]
    fn past_the_maximum_the_least_recently_used_key_is_forgotten() {
        let limit = KeyedRateLimit::per_day(1).unwrap();
        let most = REMEMBERED_MAX.get();
        (0..most).for_each(|key| limit.take_one(key).unwrap());
        limit.take_one(0).unwrap_err();
        limit.take_one(most).unwrap();
        limit.take_one(0).unwrap_err();
        limit.take_one(1).unwrap();
        assert_eq!(limit.table.lock().len(), most);
    }

    #[test]
    fn all_clients_share_the_rate_with_a_burst_of_a_tenth_of_a_second() {
        let limit = SharedRateLimit::per_second(20).unwrap();
        let begun = Instant::now();
        let taken_at = |ms| {
            let now = begun + Duration::from_millis(ms);
            (0..1_000).take_while(|_| limit.take_at(1, now).is_ok()).count()
        };
        assert_eq!(taken_at(0), 2);
        let refused = limit.take_at(1, begun).unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.cause), (503, None));
        assert_eq!((1..=10_000).map(taken_at).sum::<usize>(), 10 * 20);
        assert_eq!(taken_at(60_000), 2, "no more is saved up");
        assert!(SharedRateLimit::per_second(0).is_none());
    }

    #[test]
    fn a_batch_is_admitted_whole_and_delays_the_next_requests() {
        let limit = SharedRateLimit::per_second(20).unwrap();
        let begun = Instant::now();
        let take = |count, ms| limit.take_at(count, begun + Duration::from_millis(ms));
        take(100, 0).unwrap();
        for (count, ms) in [(1, 0), (1, 4_900), (100, 4_900)] {
            let after = take(count, ms).unwrap_err().retry_after;
            assert_eq!(after, Some(Duration::from_millis(4_900 - ms)), "{count} at {ms}");
        }
        take(1, 4_901).unwrap();
        take(100, 4_951).unwrap();
        assert_eq!(limit.most(), 200);
    }

    #[test]
    fn a_limit_counts_per_address_and_not_for_loopback() {
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
