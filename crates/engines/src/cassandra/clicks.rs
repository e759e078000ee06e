//! Clicks. Each process has rows of its own, and writes into them its total so far, not an increment:
//! the same write again changes nothing, and no process adds to another's count. All rows of a link have
//! the same partition key in every table, and a flush writes them in one batch.

mod counted;
mod moving;
mod rows;

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{Timestamp, tz::TimeZone};
use lodge_domain::{
    Result,
    links::{ClickBatch, ClickReport, ClickStore, Device, Grouping, LinkId, clicks::ClickLine},
};
use tokio::sync::Mutex;

use self::counted::{Cell, Count, CountCache, Sum};
use super::{failure::Failure, session::Session};

/// Links whose rows are written or read concurrently.
const AT_ONCE: usize = 16;

/// Maximum number of lines of a report.
const LINES_MAX: usize = 1_000;

const HOUR_SECONDS: i64 = 3_600;
const DAY_SECONDS: i64 = 86_400;

/// Clicks in the cluster.
pub(crate) struct CassandraClicks {
    session: Arc<Session>,
    counted: Mutex<CountCache>,
}

impl CassandraClicks {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session, counted: Mutex::default() }
    }

    /// Writes the cells of one link that lack this batch; returns the count of each cell then.
    async fn add_part(
        &self,
        batch: &ClickBatch,
        part: Vec<Sum>,
    ) -> Result<Vec<(Cell, Count)>, Failure> {
        let number = batch.number.cast_signed();
        let (mut behind, mut stored) = (Vec::new(), Vec::new());
        for Sum { cell, known, more } in part {
            // One after the other, so that the number of concurrent reads is that of concurrent links.
            let was = match known {
                Some(count) => count,
                None => self.load(batch.incarnation, &cell).await?,
            };
            if was.number >= number {
                stored.push((cell, was));
            } else {
                let clicks = was.clicks.saturating_add_unsigned(more);
                behind.push((cell, Count { number, clicks }));
            }
        }
        self.store(batch.incarnation, &behind).await?;
        stored.append(&mut behind);
        Ok(stored)
    }

    /// All clicks of a link by day and device.
    async fn days(&self, link: LinkId) -> Result<Vec<(i64, Device, u64)>, Failure> {
        let rows: Vec<(i64, String, i64)> = self.session.statements.days.all((link.0,)).await?;
        Ok(rows.into_iter().map(parse_row).collect())
    }
}

#[async_trait]
impl ClickStore for CassandraClicks {
    async fn add(&self, batch: Arc<ClickBatch>) -> Result<()> {
        let mut counted = self.counted.lock().await;
        counted.begin(&batch);
        let parts = counted.parts(&batch);
        let mut added = parts.into_iter().map(|part| self.add_part(&batch, part));
        // The first part runs alone, so that a store in trouble gets one write and not all.
        let first = stream::iter(added.next()).buffered(1);
        let others = stream::iter(added).buffer_unordered(AT_ONCE);
        let mut added = pin!(first.chain(others));
        while let Some(done) = added.next().await {
            match done {
                Ok(stored) => counted.keep(batch.incarnation, stored),
                Err(failure) => {
                    counted.mark_uncertain();
                    return Err(failure.into());
                }
            }
        }
        Ok(())
    }

    async fn report(&self, link: LinkId, by: Grouping, since: Timestamp) -> Result<ClickReport> {
        let (statements, days) = (&self.session.statements, self.days(link).await?);
        let (total, bots) = sum(&days);
        let seconds = since.as_second();
        let lines = match by {
            Grouping::Hour => {
                let first = seconds.div_euclid(HOUR_SECONDS);
                let hours: Vec<(i64, String, i64)> = statements.hours.all((link.0, first)).await?;
                by_time(hours.into_iter().map(parse_row), HOUR_SECONDS, seconds, |at| {
                    at.to_string()
                })
            }
            Grouping::Day => by_time(days.into_iter(), DAY_SECONDS, seconds, |at| {
                TimeZone::UTC.to_datetime(at).date().to_string()
            }),
            Grouping::Device => most_first(
                days.into_iter().map(|(_, device, clicks)| (device.name().to_owned(), clicks)),
            ),
            Grouping::Referrer => {
                let hosts: Vec<(String, i64)> = statements.referrers.all((link.0,)).await?;
                most_first(hosts.into_iter().map(|(host, clicks)| (host, clicks.cast_unsigned())))
            }
        };
        Ok(ClickReport { total, bots, lines })
    }

    async fn totals(&self, links: Vec<LinkId>) -> Result<Vec<u64>> {
        let totals = links
            .into_iter()
            .map(|link| async move { Ok::<_, Failure>(sum(&self.days(link).await?).0) });
        Ok(stream::iter(totals).buffered(AT_ONCE).try_collect().await?)
    }
}

/// Parses a row of clicks by time and device.
fn parse_row((time, device, clicks): (i64, String, i64)) -> (i64, Device, u64) {
    let device = Device::ALL.into_iter().find(|known| known.name() == device);
    (time, device.unwrap_or(Device::Other), clicks.cast_unsigned())
}

/// Sums the clicks of people and of bots.
fn sum(days: &[(i64, Device, u64)]) -> (u64, u64) {
    days.iter().fold((0, 0), |(people, bots), (_, device, clicks)| {
        if *device == Device::Bot { (people, bots + clicks) } else { (people + clicks, bots) }
    })
}

/// The newest lines, oldest first, without bots, from the period that contains `since`.
fn by_time(
    rows: impl Iterator<Item = (i64, Device, u64)>,
    step_seconds: i64,
    since: i64,
    name: impl Fn(Timestamp) -> String,
) -> Vec<ClickLine> {
    let first = since.div_euclid(step_seconds);
    let mut times: BTreeMap<i64, u64> = BTreeMap::new();
    for (time, _, clicks) in rows
        .filter(|(time, device, clicks)| *time >= first && *device != Device::Bot && *clicks > 0)
    {
        *times.entry(time).or_default() += clicks;
    }
    let too_many = times.len().saturating_sub(LINES_MAX);
    let begins = |time: i64| Timestamp::from_second(time.saturating_mul(step_seconds));
    times
        .into_iter()
        .skip(too_many)
        .map(|(time, clicks)| ClickLine { key: name(begins(time).unwrap_or_default()), clicks })
        .collect()
}

/// The lines by clicks, most first; equal ones by name.
fn most_first(rows: impl Iterator<Item = (String, u64)>) -> Vec<ClickLine> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (key, clicks) in rows {
        *sums.entry(key).or_default() += clicks;
    }
    let mut lines: Vec<ClickLine> =
        sums.into_iter().map(|(key, clicks)| ClickLine { key, clicks }).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.clicks));
    lines.retain(|line| line.clicks > 0);
    lines.truncate(LINES_MAX);
    lines
}
