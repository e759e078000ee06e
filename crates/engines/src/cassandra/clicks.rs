//! Clicks. Each process has rows of its own, and writes into them how many clicks it has seen so far,
//! not how many came: the same write again changes nothing, and nobody adds to what another counts.

mod moving;

use std::{
    collections::{BTreeMap, HashMap},
    pin::pin,
    sync::Arc,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{Timestamp, tz::TimeZone};
use lodge_domain::{
    Result,
    links::{
        ClickBatch, ClickReport, ClickStore, Device, Grouping, LinkId,
        clicks::{ClickLine, OTHER_REFERRERS},
    },
};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{failure::Failure, session::Session};

/// Rows that are written or read at once.
const AT_ONCE: usize = 16;

/// Counts that are remembered; past it they are read again.
const CELLS_MAX: usize = 1 << 18;

/// Hosts that one process counts for one link; the others are counted together.
const HOSTS_MAX: u32 = 1_000;

/// Most lines of a report.
const LINES_MAX: usize = 1_000;

const HOUR_SECONDS: i64 = 3_600;
const DAY_SECONDS: i64 = 86_400;

/// How long hours are kept, from their beginning.
const HOURS_KEPT_SECONDS: i64 = 32 * DAY_SECONDS;

/// Clicks in the cluster.
pub(crate) struct CassandraClicks {
    session: Arc<Session>,
    counted: Mutex<Counted>,
}

/// What this process has written.
#[derive(Default)]
struct Counted {
    cells: HashMap<(Uuid, Cell), Count>,
    hosts: HashMap<LinkId, u32>,
    /// The incarnation of the last batch.
    incarnation: Option<Uuid>,
    /// Whether a cell of it that is not known was never written.
    is_complete: bool,
}

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Cell {
    Hour(LinkId, i64, Device),
    Day(LinkId, i64, Device),
    Host(LinkId, Box<str>),
}

/// How many there were after which batch.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    number: i64,
    clicks: i64,
}

impl CassandraClicks {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session, counted: Mutex::default() }
    }

    /// The count of a cell as it was written last.
    async fn load(&self, incarnation: Uuid, cell: &Cell) -> Result<Count, Failure> {
        let statements = &self.session.statements;
        let row: Option<(i64, i64)> = match cell {
            Cell::Hour(link, hour, device) => {
                let values = (link.0, hour, device.name(), incarnation);
                self.session.first(&statements.hour_cell, values).await?
            }
            Cell::Day(link, day, device) => {
                let values = (link.0, day, device.name(), incarnation);
                self.session.first(&statements.day_cell, values).await?
            }
            Cell::Host(link, host) => {
                let values = (link.0, &**host, incarnation);
                self.session.first(&statements.referrer_cell, values).await?
            }
        };
        Ok(row.map_or_else(Count::default, |(number, clicks)| Count { number, clicks }))
    }

    /// Writes a count; of two, the one of the later batch stays, whichever arrives last.
    async fn store(&self, incarnation: Uuid, cell: &Cell, count: Count) -> Result<(), Failure> {
        let (statements, Count { number, clicks }) = (&self.session.statements, count);
        match cell {
            Cell::Hour(link, hour, device) => {
                let values = (
                    link.0,
                    hour,
                    device.name(),
                    incarnation,
                    number,
                    clicks,
                    number,
                    seconds_left(*hour),
                );
                self.session.run(&statements.add_hour, values).await?;
            }
            Cell::Day(link, day, device) => {
                let values = (link.0, day, device.name(), incarnation, number, clicks, number);
                self.session.run(&statements.add_day, values).await?;
            }
            Cell::Host(link, host) => {
                let values = (link.0, &**host, incarnation, number, clicks, number);
                self.session.run(&statements.add_referrer, values).await?;
            }
        }
        Ok(())
    }

    /// Brings one cell up to a batch, unless it is.
    async fn add_to(
        &self,
        batch: &ClickBatch,
        cell: Cell,
        known: Option<Count>,
        more: u64,
    ) -> Result<(Cell, Count), Failure> {
        let was = match known {
            Some(count) => count,
            None => self.load(batch.incarnation, &cell).await?,
        };
        let number = batch.number.cast_signed();
        if was.number >= number {
            return Ok((cell, was));
        }
        let is = Count { number, clicks: was.clicks.saturating_add_unsigned(more) };
        self.store(batch.incarnation, &cell, is).await?;
        Ok((cell, is))
    }

    /// Clicks for ever by day and device.
    async fn days(&self, link: LinkId) -> Result<Vec<(i64, Device, u64)>, Failure> {
        let rows: Vec<(i64, String, i64)> =
            self.session.all(&self.session.statements.days, (link.0,)).await?;
        Ok(rows.into_iter().map(told).collect())
    }
}

#[async_trait]
impl ClickStore for CassandraClicks {
    async fn add(&self, batch: Arc<ClickBatch>) -> Result<()> {
        let mut counted = self.counted.lock().await;
        counted.begin(&batch);
        let sums: Vec<(Cell, Option<Count>, u64)> = counted.sums(&batch);
        let mut added =
            sums.into_iter().map(|(cell, known, more)| self.add_to(&batch, cell, known, more));
        // The first finds out whether the store is there, so that one in need is not asked by all.
        let first = stream::iter(added.next()).buffered(1);
        let others = stream::iter(added).buffer_unordered(AT_ONCE);
        let mut added = pin!(first.chain(others));
        while let Some(done) = added.next().await {
            match done {
                Ok((cell, count)) => {
                    counted.cells.insert((batch.incarnation, cell), count);
                }
                Err(failure) => {
                    counted.is_complete = false;
                    return Err(failure.into());
                }
            }
        }
        Ok(())
    }

    async fn report(&self, link: LinkId, by: Grouping, since: Timestamp) -> Result<ClickReport> {
        let days = self.days(link).await?;
        let (total, bots) = sum(&days);
        let seconds = since.as_second();
        let lines = match by {
            Grouping::Hour => {
                let values = (link.0, seconds.div_euclid(HOUR_SECONDS));
                let hours: Vec<(i64, String, i64)> =
                    self.session.all(&self.session.statements.hours, values).await?;
                by_time(hours.into_iter().map(told), HOUR_SECONDS, seconds, |at| at.to_string())
            }
            Grouping::Day => by_time(days.into_iter(), DAY_SECONDS, seconds, |at| {
                TimeZone::UTC.to_datetime(at).date().to_string()
            }),
            Grouping::Device => most_first(
                days.into_iter().map(|(_, device, clicks)| (device.name().to_owned(), clicks)),
            ),
            Grouping::Referrer => {
                let hosts: Vec<(String, i64)> =
                    self.session.all(&self.session.statements.referrers, (link.0,)).await?;
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

impl Counted {
    /// Makes room, and notes whether the batch is the first of its incarnation: of that nothing can have
    /// been written yet but the same.
    fn begin(&mut self, batch: &ClickBatch) {
        if self.cells.len() > CELLS_MAX {
            let incarnation = self.incarnation;
            *self = Self { incarnation, ..Self::default() };
        }
        if self.incarnation != Some(batch.incarnation) {
            self.incarnation = Some(batch.incarnation);
            self.is_complete = batch.number == 1;
        }
    }

    /// What a batch adds to each cell, with what is known of it.
    fn sums(&mut self, batch: &ClickBatch) -> Vec<(Cell, Option<Count>, u64)> {
        let mut sums: BTreeMap<Cell, u64> = BTreeMap::new();
        for (cell, clicks) in &batch.clicks {
            let day = cell.hour.div_euclid(DAY_SECONDS / HOUR_SECONDS);
            *sums.entry(Cell::Hour(cell.link, cell.hour, cell.device)).or_default() += clicks;
            *sums.entry(Cell::Day(cell.link, day, cell.device)).or_default() += clicks;
        }
        for ((link, host), clicks) in &batch.referrers {
            *sums.entry(self.host_cell(batch.incarnation, *link, host)).or_default() += clicks;
        }
        let with_known = |(cell, more)| {
            let place = (batch.incarnation, cell);
            let known = self.cells.get(&place).copied();
            let never = self.is_complete.then(Count::default);
            (place.1, known.or(never), more)
        };
        sums.into_iter().map(with_known).collect()
    }

    /// Where a host is counted: with the others, once there are too many.
    fn host_cell(&mut self, incarnation: Uuid, link: LinkId, host: &str) -> Cell {
        let cell = Cell::Host(link, host.into());
        if self.cells.contains_key(&(incarnation, cell.clone())) {
            return cell;
        }
        let hosts = self.hosts.entry(link).or_default();
        if *hosts >= HOSTS_MAX {
            return Cell::Host(link, OTHER_REFERRERS.into());
        }
        *hosts += 1;
        cell
    }
}

/// How long the row of an hour is to be kept from now on.
fn seconds_left(hour: i64) -> i32 {
    let end = hour.saturating_mul(HOUR_SECONDS).saturating_add(HOURS_KEPT_SECONDS);
    let left = end.saturating_sub(Timestamp::now().as_second());
    // None at all would mean for ever.
    i32::try_from(left.clamp(1, 2 * HOURS_KEPT_SECONDS)).unwrap_or(1)
}

/// A row of clicks by time, with its device.
fn told((time, device, clicks): (i64, String, i64)) -> (i64, Device, u64) {
    let device = Device::ALL.into_iter().find(|known| known.name() == device);
    (time, device.unwrap_or(Device::Other), clicks.cast_unsigned())
}

/// Clicks of people, and of bots.
fn sum(days: &[(i64, Device, u64)]) -> (u64, u64) {
    days.iter().fold((0, 0), |(people, bots), (_, device, clicks)| {
        if *device == Device::Bot { (people, bots + clicks) } else { (people + clicks, bots) }
    })
}

/// The newest lines, oldest first, without bots; the first is the one in which `since` falls.
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

/// The lines with the most clicks first, and in the order of their names where they are equal.
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
