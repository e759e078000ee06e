//! What happened in a channel, by cursor.

use lodge_domain::board::{Cursor, Event, EventsPage, Reach, Slug};
use rusqlite::Connection;

use super::{
    origins::{self, ChannelRow, Standing},
    row::{self, EVENT, EVENT_TABLES},
};
use crate::{
    column::{limit, number},
    failure::Failure,
};

/// The statement that reads an origin's events after a number, or the last up to one.
pub(crate) fn sql(newest: bool) -> String {
    let (wanted, order) = if newest { ("<=", "DESC") } else { (">", "ASC") };
    format!(
        "SELECT {EVENT} FROM {EVENT_TABLES} WHERE e.channel = ?1 AND e.origin = ?2 AND e.seq {wanted} ?3 \
         ORDER BY e.seq {order} LIMIT ?4"
    )
}

/// A page of events.
pub(super) fn page(
    connection: &Connection,
    slug: &Slug,
    reach: Reach,
    at_most: usize,
) -> Result<EventsPage, Failure> {
    let channel = origins::channel(connection, slug)?;
    let standings = origins::standings(connection, channel)?;
    let closed = origins::closed(&standings);
    let (had, newest) = match reach {
        Reach::After(cursor) => (cursor.unfolded(&closed), false),
        Reach::Before(cursor) => (cursor.unfolded(&closed), true),
        Reach::Tail => (origins::everything(&standings), true),
    };
    let mut events = Vec::new();
    for standing in standings.iter().filter(|standing| has_more(standing, &had, newest)) {
        events.extend(of_origin(connection, channel, standing, &had, newest, at_most)?);
    }
    let page = if newest {
        EventsPage::before(had, events, at_most)
    } else {
        EventsPage::after(had, events, at_most)
    };
    let (start, cursor) = (page.start.folded(&closed)?, page.cursor.folded(&closed)?);
    Ok(EventsPage { start, cursor, ..page })
}

/// Whether there is anything to read of this origin.
fn has_more(standing: &Standing, had: &Cursor, newest: bool) -> bool {
    let last = standing.last.map_or(0, |(seq, _)| seq);
    let seq = had.seq(standing.origin);
    if newest { seq > 0 && last > 0 } else { last > seq }
}

fn of_origin(
    connection: &Connection,
    channel: ChannelRow,
    standing: &Standing,
    had: &Cursor,
    newest: bool,
    at_most: usize,
) -> Result<Vec<Event>, Failure> {
    let (origin, seq) = (standing.origin, number(had.seq(standing.origin))?);
    let mut statement = connection.prepare_cached(&sql(newest))?;
    let wanted = (channel.0, origin.number(), seq, limit(at_most).saturating_add(1));
    let events = statement.query_map(wanted, row::event)?;
    Ok(events.collect::<Result<_, _>>()?)
}
