//! Clicks that were counted elsewhere.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use lodge_domain::links::{Device, LinkId, moving::Clicks};
use uuid::Uuid;

use super::{CassandraClicks, Cell, Count, told};
use crate::cassandra::failure::Failure;

/// Rows of one link that are written at once.
const AT_ONCE: usize = 4;

impl CassandraClicks {
    /// Puts the clicks of a link as those that a process has counted in its only batch: the same again
    /// changes nothing.
    pub(in crate::cassandra) async fn put(
        &self,
        link: LinkId,
        clicks: &Clicks,
        incarnation: Uuid,
    ) -> Result<(), Failure> {
        let puts = cells(link, clicks).into_iter().map(async |(cell, clicks)| {
            let count = Count { number: 1, clicks: clicks.cast_signed() };
            self.store(incarnation, &cell, count).await
        });
        stream::iter(puts).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// The clicks of a link, whoever has counted them.
    pub(in crate::cassandra) async fn of(&self, link: LinkId) -> Result<Clicks, Failure> {
        let (session, mut clicks) = (&self.session, Clicks::default());
        let hours: Vec<(i64, String, i64)> =
            session.all(&session.statements.hours, (link.0, i64::MIN)).await?;
        for (hour, device, count) in hours.into_iter().map(told) {
            *clicks.hours.entry((hour, device)).or_default() += count;
        }
        let days: Vec<(i64, Device, u64)> = self.days(link).await?;
        for (day, device, count) in days {
            *clicks.days.entry((day, device)).or_default() += count;
        }
        let hosts: Vec<(String, i64)> =
            session.all(&session.statements.referrers, (link.0,)).await?;
        for (host, count) in hosts {
            *clicks.referrers.entry(host).or_default() += count.cast_unsigned();
        }
        Ok(clicks)
    }
}

fn cells(link: LinkId, clicks: &Clicks) -> Vec<(Cell, u64)> {
    let Clicks { hours, days, referrers } = clicks;
    let hours =
        hours.iter().map(|((hour, device), count)| (Cell::Hour(link, *hour, *device), *count));
    let days = days.iter().map(|((day, device), count)| (Cell::Day(link, *day, *device), *count));
    let hosts =
        referrers.iter().map(|(host, count)| (Cell::Host(link, host.as_str().into()), *count));
    hours.chain(days).chain(hosts).collect()
}
