//! Clicks, counted in memory so that no redirect waits for its count, and stored in numbered batches so that none
//! counts twice.

use std::{
    cell::Cell,
    collections::HashMap,
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use crossbeam_utils::CachePadded;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    link::LinkId,
    visit::{Device, Visit},
};
use crate::{Error, Random, Result, names::names, random::time_ordered_id};

/// The name under which referrers are stored once a link has too many of them.
pub const OTHER_REFERRERS: &str = "(other)";

/// The number of tallies, so that threads rarely contend for a lock.
const SHARDS: usize = 8;

/// The maximum entries of a shard; past it, clicks on further links are dropped and counted as lost. With a
/// responsive store it is tens of times the clicks of one second.
const ENTRIES_MAX: usize = 1 << 16;

/// The key of one count: a link, an hour and a kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClickCell {
    /// The link.
    pub link: LinkId,
    /// Whole hours since 1970-01-01T00:00Z.
    pub hour: i64,
    /// The kind of device.
    pub device: Device,
}

/// The clicks that were counted since the last batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickBatch {
    /// The id of the counting process, drawn at its start.
    pub incarnation: Uuid,
    /// The number of the batch: 1, 2, 3, … within the incarnation.
    pub number: u64,
    /// Click counts, sorted so that a store that orders them by link visits each page once.
    pub clicks: Vec<(ClickCell, u64)>,
    /// Counts of clicks from other sites, by their host, without those of known bots; sorted too.
    pub referrers: Vec<((LinkId, Box<str>), u64)>,
}

/// The grouping of a click report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// By UTC day, oldest first.
    Day,
    /// By UTC hour, oldest first.
    Hour,
    /// By the host that visitors came from, most first.
    Referrer,
    /// By kind of device, most first.
    Device,
}

/// One line of a click report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickLine {
    /// `2026-01-31`, `2026-01-31T07:00:00Z`, a host, or a kind of device.
    pub key: String,
    /// The clicks without those of known bots; in a report by device, all clicks.
    pub clicks: u64,
}

/// The clicks on a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClickReport {
    /// All clicks so far, without those of known bots.
    pub total: u64,
    /// All clicks of known bots so far.
    pub bots: u64,
    /// The lines with at least one click.
    pub lines: Vec<ClickLine>,
}

/// A store of clicks, rolled up so that cost and size do not grow with their number.
#[async_trait]
pub trait ClickStore: Send + Sync {
    /// Adds a batch. Batches of an incarnation arrive in order; a repeated batch changes nothing. Clicks on links
    /// that no longer exist may be dropped.
    async fn add(&self, batch: Arc<ClickBatch>) -> Result<()>;
    /// Returns the clicks on a link; hours and days only from `since` on, at most 1,000 lines. Hours are kept for
    /// 31 days, days for ever.
    async fn report(&self, link: LinkId, by: Grouping, since: Timestamp) -> Result<ClickReport>;
    /// Returns all clicks on each of `links`, without those of known bots, in the order of `links`.
    async fn totals(&self, links: Vec<LinkId>) -> Result<Vec<u64>>;
}

/// Counts clicks in memory until they are drained.
#[derive(Debug)]
pub struct ClickCounter {
    /// Padded, so that a thread that counts does not take the cache line of another.
    shards: [CachePadded<Mutex<Tally>>; SHARDS],
    lost: AtomicU64,
    incarnation: Uuid,
    number: AtomicU64,
}

#[derive(Debug, Default)]
struct Tally {
    clicks: HashMap<ClickCell, u64>,
    referrers: HashMap<(LinkId, Box<str>), u64>,
}

impl ClickCounter {
    /// Creates an empty counter with a new incarnation.
    pub fn new(random: &dyn Random, now: Timestamp) -> Self {
        Self {
            shards: Default::default(),
            lost: AtomicU64::new(0),
            incarnation: time_ordered_id(random, now),
            number: AtomicU64::new(0),
        }
    }

    /// Counts one click.
    pub fn count(&self, link: LinkId, visit: &Visit<'_>, at: Timestamp) {
        let device = visit.device();
        let cell = ClickCell { link, hour: at.as_second().div_euclid(3600), device };
        // Known bots are counted apart.
        let referrer = if device == Device::Bot { None } else { visit.referrer_host() };
        let mut tally = self.shards[shard_of_this_thread()].lock();
        if tally.clicks.len() >= ENTRIES_MAX && !tally.clicks.contains_key(&cell) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        *tally.clicks.entry(cell).or_default() += 1;
        let Some(host) = referrer else { return };
        let host = if tally.referrers.len() < ENTRIES_MAX { host } else { OTHER_REFERRERS.into() };
        *tally.referrers.entry((link, host)).or_default() += 1;
    }

    /// Returns and resets the counts since the last call; `None` without clicks.
    pub fn drain(&self) -> Option<ClickBatch> {
        let mut sum = Tally::default();
        for shard in &self.shards {
            let tally = mem::take(&mut *shard.lock());
            if sum.clicks.is_empty() && sum.referrers.is_empty() {
                sum = tally;
                continue;
            }
            for (cell, count) in tally.clicks {
                *sum.clicks.entry(cell).or_default() += count;
            }
            for (referrer, count) in tally.referrers {
                *sum.referrers.entry(referrer).or_default() += count;
            }
        }
        if sum.clicks.is_empty() {
            return None;
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let mut clicks: Vec<_> = sum.clicks.into_iter().collect();
        let mut referrers: Vec<_> = sum.referrers.into_iter().collect();
        clicks.sort_unstable();
        referrers.sort_unstable();
        Some(ClickBatch { incarnation: self.incarnation, number, clicks, referrers })
    }

    /// Returns the number of clicks that were dropped because the store accepted no batch for too long.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

fn shard_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static SHARD: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS));
    SHARD.get()
}

names!(Grouping { Day = "day", Hour = "hour", Referrer = "referrer", Device = "device" });

impl std::str::FromStr for Grouping {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::invalid("by", "must be day, hour, referrer or device");
        Self::named(text).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsRandom;

    #[test]
    fn every_click_is_in_exactly_one_batch() {
        let counter = ClickCounter::new(&OsRandom, Timestamp::UNIX_EPOCH);
        let link = LinkId(time_ordered_id(&OsRandom, Timestamp::UNIX_EPOCH));
        let visit = Visit { referrer: Some("https://a.example/x"), ..Visit::default() };
        let bot = Visit { user_agent: Some("Googlebot/2.1"), ..visit };
        counter.count(link, &bot, Timestamp::UNIX_EPOCH);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..1000).for_each(|_| counter.count(link, &visit, Timestamp::UNIX_EPOCH));
                });
            }
        });
        let batch = counter.drain().unwrap();
        assert_eq!(
            (batch.number, batch.clicks.iter().map(|(_, count)| count).sum::<u64>()),
            (1, 4001)
        );
        assert_eq!(batch.referrers, vec![((link, "a.example".into()), 4000)], "without bots");
        assert_eq!(counter.drain(), None);
        counter.count(link, &Visit::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(counter.drain().map(|batch| batch.number), Some(2));
    }
}
