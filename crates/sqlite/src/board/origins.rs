//! Who writes here, and how far each has come.

use lodge_domain::{
    Error, OsRandom,
    board::{Cursor, EventId, Origin, Slug, Stamp},
};
use rusqlite::{Connection, OptionalExtension};

use crate::{column::number, failure::Failure};

/// There is none of that name.
pub(super) fn no_channel() -> Error {
    Error::not_found("there is no such channel")
}

/// A channel's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChannelRow(pub(super) i64);

const CHANNEL: &str = "SELECT row FROM board_channels WHERE slug = ?1";
const ORIGINS: &str = "SELECT origin, is_open FROM board_origins ORDER BY place";
const LAST: &str =
    "SELECT seq, at FROM board_events WHERE channel = ?1 AND origin = ?2 ORDER BY seq DESC LIMIT 1";

/// Those that must find their way by an index; of origins there are as many as there were restores.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 2] = [CHANNEL, LAST];

const OPEN: &str = "SELECT origin FROM board_origins WHERE is_open ORDER BY place LIMIT 1";
const ADD: &str = "INSERT INTO board_origins (origin, is_open) VALUES (?1, 1)";
const CLOSE: &str = "UPDATE board_origins SET is_open = 0";

/// The origin of this file, drawn when it is opened for the first time, or for the first time since a restore.
pub(crate) fn open(connection: &Connection) -> rusqlite::Result<Origin> {
    let kept = connection.query_row(OPEN, [], |row| row.get(0)).optional()?;
    if let Some(origin) = kept.and_then(Origin::new) {
        return Ok(origin);
    }
    let origin = Origin::draw(&OsRandom);
    add(connection, origin)?;
    Ok(origin)
}

/// Adds an origin that writes here.
pub(crate) fn add(connection: &Connection, origin: Origin) -> rusqlite::Result<()> {
    connection.execute(ADD, [origin.number()]).map(drop)
}

/// From now on nobody writes here who has: what they wrote after a backup was made is not in it, and their numbers
/// must not come again.
pub(crate) fn close_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(CLOSE, []).map(drop)
}

/// An origin in a channel.
pub(super) struct Standing {
    pub(super) origin: Origin,
    pub(super) is_open: bool,
    /// Its last event there, if there is one.
    pub(super) last: Option<(u64, Stamp)>,
}

/// The row of a channel, if there is one of that name.
pub(crate) fn channel(connection: &Connection, slug: &Slug) -> Result<ChannelRow, Failure> {
    let mut statement = connection.prepare_cached(CHANNEL)?;
    let row = statement.query_row([slug.as_str()], |row| row.get(0)).optional()?;
    Ok(ChannelRow(row.ok_or_else(no_channel)?))
}

/// All origins in a channel, in the order in which they began to write in the file.
pub(super) fn standings(
    connection: &Connection,
    channel: ChannelRow,
) -> Result<Vec<Standing>, Failure> {
    let mut origins = connection.prepare_cached(ORIGINS)?;
    let origins = origins.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut last = connection.prepare_cached(LAST)?;
    origins
        .map(|origin| {
            let (origin, is_open): (u32, bool) = origin?;
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Stamp::stored(row.get(1)?)));
            let last = last.query_row((channel.0, origin), read).optional()?;
            let origin =
                Origin::new(origin).ok_or_else(|| Error::internal("an origin without a number"))?;
            Ok(Standing { origin, is_open, last })
        })
        .collect()
}

/// What closed origins wrote last in the channel, as cursors fold them.
pub(super) fn closed(standings: &[Standing]) -> Vec<(Origin, u64)> {
    let closed = standings.iter().filter(|standing| !standing.is_open);
    closed.map(|standing| (standing.origin, standing.last.map_or(0, |(seq, _)| seq))).collect()
}

/// Everything that has happened in a channel, in full.
pub(super) fn everything(standings: &[Standing]) -> Cursor {
    let mut cursor = Cursor::default();
    for Standing { origin, last, .. } in standings {
        if let Some((seq, _)) = last {
            cursor.take(EventId { origin: *origin, seq: *seq });
        }
    }
    cursor
}

/// The next event's name and, by this clock, its time: later than all that is known in the channel.
pub(crate) fn next(
    connection: &Connection,
    channel: ChannelRow,
    origin: Origin,
    now: jiff::Timestamp,
) -> Result<(EventId, Stamp), Failure> {
    let standings = standings(connection, channel)?;
    let latest = standings.iter().filter_map(|standing| standing.last).map(|(_, at)| at).max();
    let own = standings.iter().find(|standing| standing.origin == origin);
    let seq = own.and_then(|own| own.last).map_or(0, |(seq, _)| seq) + 1;
    number(seq)?;
    Ok((EventId { origin, seq }, Stamp::after(latest, now)))
}
