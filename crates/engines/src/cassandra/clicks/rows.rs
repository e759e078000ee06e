//! The rows of counts: one for each process and cell.

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    CassandraClicks, DAY_SECONDS, HOUR_SECONDS,
    counted::{Cell, Count},
};
use crate::cassandra::{failure::Failure, prepared::Bound, statements::Statements};

/// How long hours are kept, from their start.
const HOURS_KEPT_SECONDS: i64 = 32 * DAY_SECONDS;

impl CassandraClicks {
    /// Reads the stored count of a cell.
    pub(super) async fn load(&self, incarnation: Uuid, cell: &Cell) -> Result<Count, Failure> {
        let statements = &self.session.statements;
        let row: Option<(i64, i64)> = match cell {
            Cell::Hour(link, hour, device) => {
                statements.hour_cell.first((link.0, hour, device.name(), incarnation)).await?
            }
            Cell::Day(link, day, device) => {
                statements.day_cell.first((link.0, day, device.name(), incarnation)).await?
            }
            Cell::Host(link, host) => {
                statements.referrer_cell.first((link.0, &**host, incarnation)).await?
            }
        };
        Ok(row.map_or_else(Count::default, |(number, clicks)| Count { number, clicks }))
    }

    /// Writes counts of one link in one batch. Of two writes of a cell, the one of the later batch wins,
    /// in whatever order they arrive.
    pub(super) async fn store(
        &self,
        incarnation: Uuid,
        counts: &[(Cell, Count)],
    ) -> Result<(), Failure> {
        if counts.is_empty() {
            return Ok(());
        }
        let statements = &self.session.statements;
        let bound = |(cell, count): &(Cell, Count)| write(statements, incarnation, cell, *count);
        self.session.batch(counts.iter().map(bound).collect()).await
    }
}

/// The write of one count. The batch's number is also the write's timestamp.
fn write(statements: &Statements, incarnation: Uuid, cell: &Cell, count: Count) -> Bound {
    let Count { number, clicks } = count;
    match cell {
        Cell::Hour(link, hour, device) => {
            let (device, left) = (device.name(), seconds_left(*hour));
            let values = (link.0, *hour, device, incarnation, number, clicks, number, left);
            statements.add_hour.bind(values)
        }
        Cell::Day(link, day, device) => {
            let values = (link.0, *day, device.name(), incarnation, number, clicks, number);
            statements.add_day.bind(values)
        }
        Cell::Host(link, host) => {
            let values = (link.0, host.clone(), incarnation, number, clicks, number);
            statements.add_referrer.bind(values)
        }
    }
}

/// The TTL in seconds of the row of an hour from now: at least an hour, even if the hour is long past, so
/// that its writer can read it back.
fn seconds_left(hour: i64) -> i32 {
    let end = hour.saturating_mul(HOUR_SECONDS).saturating_add(HOURS_KEPT_SECONDS);
    let left = end.saturating_sub(Timestamp::now().as_second());
    let left = left.clamp(HOUR_SECONDS, 2 * HOURS_KEPT_SECONDS);
    i32::try_from(left).unwrap_or(i32::MAX)
}
