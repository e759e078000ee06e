//! The origins that have written in a channel, with their last event.

use lodge_domain::{
    Error,
    board::{Cursor, EventId, Origin, Slug, Stamp},
};

use crate::{
    Failure, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

/// The row number of a channel in `board_channels`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelRow(pub(super) i64);

impl ChannelRow {
    /// Returns the row number.
    pub fn number(self) -> i64 {
        self.0
    }
}

static ORIGINS: Statement = same("SELECT origin, is_open FROM board_origins ORDER BY place");

statements! {
    CHANNEL = same("SELECT row FROM board_channels WHERE slug = ?");
    LAST = same("SELECT seq, at FROM board_events WHERE channel = ? AND origin = ? ORDER BY seq DESC LIMIT 1");
}

/// The error for an unknown slug.
pub(super) fn no_channel() -> Error {
    Error::not_found("there is no such channel")
}

/// Returns the row of a channel.
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such channel.
pub fn channel(tx: &mut dyn Tx, slug: &Slug) -> Result<ChannelRow, Failure> {
    let row = tx.one(&CHANNEL, values![slug.as_str()], |row| row.get(0))?;
    Ok(ChannelRow(row.ok_or_else(no_channel)?))
}

/// The state of an origin in one channel.
pub(super) struct OriginState {
    pub(super) origin: Origin,
    pub(super) is_open: bool,
    /// The origin's last event in the channel; `None` if it has written no event there.
    pub(super) last: Option<(u64, Stamp)>,
}

/// Returns all origins with their state in a channel, in the order in which they began to write to the database.
pub(super) fn origin_states(
    tx: &mut dyn Tx,
    channel: ChannelRow,
) -> Result<Vec<OriginState>, Failure> {
    let origins = tx.all(&ORIGINS, values![], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let standing = |(number, is_open): (u32, bool)| {
        let read = |row: crate::Row<'_>| Ok((row.get(0)?, Stamp::stored(row.get(1)?)));
        let last = tx.one(&LAST, values![channel.0, number], read)?;
        let origin = Origin::new(number);
        let origin = origin.ok_or_else(|| Error::internal("an origin has no number"))?;
        Ok(OriginState { origin, is_open, last })
    };
    origins.into_iter().map(standing).collect()
}

/// Returns the last event of each closed origin in the channel; cursors fold these origins.
pub(super) fn closed(standings: &[OriginState]) -> Vec<(Origin, u64)> {
    let closed = standings.iter().filter(|standing| !standing.is_open);
    closed.map(|standing| (standing.origin, standing.last.map_or(0, |(seq, _)| seq))).collect()
}

/// Returns the cursor at the end of the channel, unfolded.
pub(super) fn end_cursor(standings: &[OriginState]) -> Cursor {
    let mut cursor = Cursor::default();
    for OriginState { origin, last, .. } in standings {
        if let Some((seq, _)) = last {
            cursor.take(EventId { origin: *origin, seq: *seq });
        }
    }
    cursor
}

/// Serializes the transactions that number events of an origin.
pub(super) fn lock(tx: &mut dyn Tx, origin: Origin) -> Result<(), Failure> {
    tx.guard("events of an origin", origin.number().into())
}

/// Returns the id of the next event and its timestamp: `now`, moved forward if needed to be later than every event in
/// the channel.
pub fn next(
    tx: &mut dyn Tx,
    channel: ChannelRow,
    origin: Origin,
    now: jiff::Timestamp,
) -> Result<(EventId, Stamp), Failure> {
    let standings = origin_states(tx, channel)?;
    let latest = standings.iter().filter_map(|standing| standing.last).map(|(_, at)| at).max();
    let own = standings.iter().find(|standing| standing.origin == origin);
    let seq = own.and_then(|own| own.last).map_or(0, |(seq, _)| seq) + 1;
    Ok((EventId { origin, seq }, Stamp::after(latest, now)))
}
