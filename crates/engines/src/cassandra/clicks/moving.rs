//! Clicks that another engine counted, copied by a move.

use lodge_domain::links::{Device, LinkId, moving::Clicks};
use uuid::Uuid;

use super::{
    CassandraClicks,
    counted::{Cell, Count, in_parts},
    parse_row,
};
use crate::cassandra::failure::Failure;

impl CassandraClicks {
    /// Stores the clicks of a link as the counts of a process with a single batch; idempotent.
    pub(in crate::cassandra) async fn put(
        &self,
        link: LinkId,
        clicks: &Clicks,
        incarnation: Uuid,
    ) -> Result<(), Failure> {
        for part in in_parts(counts(link, clicks)) {
            self.store(incarnation, &part).await?;
        }
        Ok(())
    }

    /// Returns the clicks of a link, summed over all processes.
    pub(in crate::cassandra) async fn of(&self, link: LinkId) -> Result<Clicks, Failure> {
        let (statements, mut clicks) = (&self.session.statements, Clicks::default());
        let hours: Vec<(i64, String, i64)> = statements.hours.all((link.0, i64::MIN)).await?;
        for (hour, device, count) in hours.into_iter().map(parse_row) {
            *clicks.hours.entry((hour, device)).or_default() += count;
        }
        let days: Vec<(i64, Device, u64)> = self.days(link).await?;
        for (day, device, count) in days {
            *clicks.days.entry((day, device)).or_default() += count;
        }
        let hosts: Vec<(String, i64)> = statements.referrers.all((link.0,)).await?;
        for (host, count) in hosts {
            *clicks.referrers.entry(host).or_default() += count.cast_unsigned();
        }
        Ok(clicks)
    }
}

/// The counts of a process with a single batch.
fn counts(link: LinkId, clicks: &Clicks) -> Vec<(Cell, Count)> {
    let Clicks { hours, days, referrers } = clicks;
    let only = |clicks: u64| Count { number: 1, clicks: clicks.cast_signed() };
    let hours =
        hours.iter().map(|((hour, device), it)| (Cell::Hour(link, *hour, *device), only(*it)));
    let days = days.iter().map(|((day, device), it)| (Cell::Day(link, *day, *device), only(*it)));
    let hosts =
        referrers.iter().map(|(host, it)| (Cell::Host(link, host.as_str().into()), only(*it)));
    hours.chain(days).chain(hosts).collect()
}
