//! The click store: clicks rolled up by hour and day.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{Timestamp, tz::TimeZone};
use lodge_domain::{
    Result,
    links::{
        ClickBatch, ClickReport, ClickStore, Device, Grouping, LinkId,
        clicks::{ClickCell, ClickLine},
    },
};
use lodge_sql::App;
use rusqlite::{Connection, Row};

use crate::{engine::Engine, failure::Failure, query};

/// Rows of a batch that one write request adds: a few milliseconds, so that other writes do not wait for a large
/// batch.
const PART_ROWS: usize = 256;

/// Lines of a report at most.
const LINES_MAX: i64 = 1_000;

const HOUR_SECONDS: i64 = 3_600;
const DAY_SECONDS: i64 = 86_400;

const PROGRESS: &str = "SELECT number, parts FROM click_flushes WHERE incarnation = ?1";

const NOTE_PROGRESS: &str = "INSERT INTO click_flushes (incarnation, number, parts) VALUES (?1, ?2, ?3) \
    ON CONFLICT DO UPDATE SET number = excluded.number, parts = excluded.parts";

const ADD_CLICKS: &str = "INSERT INTO clicks_hour (link, hour, device, clicks) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks";

/// Adds clicks from a host; cleanup uses it, too, to fold rare hosts.
pub(crate) const ADD_REFERRERS: &str = "INSERT INTO referrers (link, host, clicks) VALUES (?1, ?2, ?3) \
    ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 8] =
    [PROGRESS, NOTE_PROGRESS, ADD_CLICKS, ADD_REFERRERS, BY_DEVICE, BY_HOUR, BY_DAY, BY_REFERRER];

/// The [`ClickStore`] of the engine.
pub(crate) struct SqliteClicks(pub(crate) Arc<Engine>);

#[async_trait]
impl ClickStore for SqliteClicks {
    async fn add(&self, batch: Arc<ClickBatch>) -> Result<()> {
        let parts =
            batch.clicks.len().div_ceil(PART_ROWS) + batch.referrers.len().div_ceil(PART_ROWS);
        for part in 0..parts {
            let batch = Arc::clone(&batch);
            let add = move |connection: &_| add_part(connection, &batch, part);
            self.0.writer.write(App::Links, add).await?;
        }
        Ok(())
    }

    async fn report(&self, link: LinkId, by: Grouping, since: Timestamp) -> Result<ClickReport> {
        self.0.scans.read(App::Links, move |connection| report(connection, link, by, since)).await
    }

    async fn totals(&self, links: Vec<LinkId>) -> Result<Vec<u64>> {
        let totals = move |connection: &_| {
            links.iter().map(|link| Ok(total(connection, *link)?.0)).collect()
        };
        self.0.scans.read(App::Links, totals).await
    }
}

/// Adds a part of a batch, unless it was added before; parts must come in order.
fn add_part(connection: &Connection, batch: &ClickBatch, part: usize) -> Result<(), Failure> {
    let incarnation = batch.incarnation.as_bytes();
    let progress = (batch.number.cast_signed(), i64::try_from(part).unwrap_or(i64::MAX) + 1);
    let last: Option<(i64, i64)> =
        query::one(connection, PROGRESS, [incarnation], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if last.is_some_and(|last| last >= progress) {
        return Ok(());
    }
    let click_parts = batch.clicks.len().div_ceil(PART_ROWS);
    if let Some(clicks) = batch.clicks.chunks(PART_ROWS).nth(part) {
        add_clicks(connection, clicks)?;
    } else if let Some(referrers) = batch.referrers.chunks(PART_ROWS).nth(part - click_parts) {
        add_referrers(connection, referrers)?;
    }
    query::run(connection, NOTE_PROGRESS, (incarnation, progress.0, progress.1))?;
    Ok(())
}

fn add_clicks(connection: &Connection, clicks: &[(ClickCell, u64)]) -> Result<(), Failure> {
    let mut add = connection.prepare_cached(ADD_CLICKS)?;
    for (cell, count) in clicks {
        add.execute((
            cell.link.0.as_bytes(),
            cell.hour,
            device_number(cell.device),
            count.cast_signed(),
        ))?;
    }
    Ok(())
}

fn add_referrers(
    connection: &Connection,
    referrers: &[((LinkId, Box<str>), u64)],
) -> Result<(), Failure> {
    let mut add = connection.prepare_cached(ADD_REFERRERS)?;
    for ((link, host), count) in referrers {
        add.execute((link.0.as_bytes(), &**host, count.cast_signed()))?;
    }
    Ok(())
}

const BY_DEVICE: &str = "SELECT device, sum(clicks) FROM (SELECT device, clicks FROM clicks_hour WHERE link = ?1 \
    UNION ALL SELECT device, clicks FROM clicks_day WHERE link = ?1) GROUP BY device";

const BY_HOUR: &str = "SELECT hour, sum(clicks) FROM clicks_hour WHERE link = ?1 AND hour >= ?2 AND device <> ?3 \
    GROUP BY hour ORDER BY hour DESC LIMIT ?4";

const BY_DAY: &str = "SELECT day, sum(clicks) FROM (\
    SELECT day, clicks FROM clicks_day WHERE link = ?1 AND day >= ?2 AND device <> ?3 \
    UNION ALL SELECT hour / 24 AS day, clicks FROM clicks_hour WHERE link = ?1 AND hour >= ?2 * 24 AND device <> ?3) \
    GROUP BY day ORDER BY day DESC LIMIT ?4";

const BY_REFERRER: &str =
    "SELECT host, clicks FROM referrers WHERE link = ?1 ORDER BY clicks DESC, host LIMIT ?2";

/// Returns a link's clicks of all time by device.
fn devices(connection: &Connection, link: LinkId) -> rusqlite::Result<Vec<(Device, u64)>> {
    let read = |row: &Row<'_>| Ok((device(row.get(0)?), count(row, 1)?));
    query::all(connection, BY_DEVICE, [link.0.as_bytes()], read)
}

/// Returns a link's clicks of all time, by browsers and by bots.
fn total(connection: &Connection, link: LinkId) -> rusqlite::Result<(u64, u64)> {
    let sum = |(people, bots), (device, clicks)| {
        if device == Device::Bot { (people, bots + clicks) } else { (people + clicks, bots) }
    };
    Ok(devices(connection, link)?.into_iter().fold((0, 0), sum))
}

fn report(
    connection: &Connection,
    link: LinkId,
    by: Grouping,
    since: Timestamp,
) -> Result<ClickReport, Failure> {
    let (total, bots) = total(connection, link)?;
    let seconds = since.as_second();
    let mut lines = match by {
        Grouping::Hour => {
            by_time(connection, BY_HOUR, link, HOUR_SECONDS, seconds, |at| at.to_string())?
        }
        Grouping::Day => by_time(connection, BY_DAY, link, DAY_SECONDS, seconds, |at| {
            TimeZone::UTC.to_datetime(at).date().to_string()
        })?,
        Grouping::Referrer => {
            let read = |row: &Row<'_>| Ok(ClickLine { key: row.get(0)?, clicks: count(row, 1)? });
            query::all(connection, BY_REFERRER, (link.0.as_bytes(), LINES_MAX), read)?
        }
        Grouping::Device => {
            let mut devices = devices(connection, link)?;
            devices.sort_by_key(|(_, clicks)| std::cmp::Reverse(*clicks));
            devices
                .into_iter()
                .map(|(device, clicks)| ClickLine { key: device.name().to_owned(), clicks })
                .collect()
        }
    };
    lines.retain(|line| line.clicks > 0);
    Ok(ClickReport { total, bots, lines })
}

/// Returns the newest lines of a report by time, oldest first, from the hour or day that contains `since`.
fn by_time(
    connection: &Connection,
    sql: &str,
    link: LinkId,
    step_seconds: i64,
    since: i64,
    name: impl Fn(Timestamp) -> String,
) -> Result<Vec<ClickLine>, Failure> {
    let values =
        (link.0.as_bytes(), since.div_euclid(step_seconds), device_number(Device::Bot), LINES_MAX);
    let read = |row: &Row<'_>| {
        let begins = row.get::<_, i64>(0)?.saturating_mul(step_seconds);
        let key = name(Timestamp::from_second(begins).unwrap_or_default());
        Ok(ClickLine { key, clicks: count(row, 1)? })
    };
    let mut lines: Vec<ClickLine> = query::all(connection, sql, values, read)?;
    lines.reverse();
    Ok(lines)
}

/// Reads a number of clicks from the column at `index`.
pub(crate) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(i64::cast_unsigned)
}

/// Returns the number that stores a device in the column `device`.
fn device_number(device: Device) -> i64 {
    match device {
        Device::Desktop => 0,
        Device::Mobile => 1,
        Device::Tablet => 2,
        Device::Bot => 3,
        Device::Other => 4,
    }
}

pub(crate) fn device(number: i64) -> Device {
    match number {
        0 => Device::Desktop,
        1 => Device::Mobile,
        2 => Device::Tablet,
        3 => Device::Bot,
        _ => Device::Other,
    }
}
