//! Pages of a channel's events by cursor.

use lodge_domain::board::{BoardEvent, Cursor, EventRange, EventsPage, Slug};

use super::{
    ChannelRow,
    origins::{self, OriginState},
    row::{self, select_events},
};
use crate::{
    Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    /// The events of an origin after a seq.
    AFTER = same(select_events!("WHERE e.channel = ? AND e.origin = ? AND e.seq > ? ORDER BY e.seq LIMIT ?"));
    /// The last events of an origin up to a seq.
    UP_TO = same(select_events!("WHERE e.channel = ? AND e.origin = ? AND e.seq <= ? ORDER BY e.seq DESC LIMIT ?"));
}

/// Returns a page of events, merged over all origins.
pub(super) fn page(
    tx: &mut dyn Tx,
    slug: &Slug,
    reach: &EventRange,
    limit: usize,
) -> Result<EventsPage, Failure> {
    let channel = origins::channel(tx, slug)?;
    let standings = origins::origin_states(tx, channel)?;
    let closed = origins::closed(&standings);
    let (had, newest) = match reach {
        EventRange::After(cursor) => (cursor.clone().unfolded(&closed), false),
        EventRange::Before(cursor) => (cursor.clone().unfolded(&closed), true),
        EventRange::Tail => (origins::end_cursor(&standings), true),
    };
    let mut events = Vec::new();
    for standing in standings.iter().filter(|standing| has_more(standing, &had, newest)) {
        events.extend(of_origin(tx, channel, standing, &had, newest, limit)?);
    }
    let page = if newest {
        EventsPage::before(had, events, limit)
    } else {
        EventsPage::after(had, events, limit)
    };
    let (start, cursor) = (page.start.folded(&closed)?, page.cursor.folded(&closed)?);
    Ok(EventsPage { start, cursor, ..page })
}

/// Whether this origin has events for the page.
fn has_more(standing: &OriginState, had: &Cursor, newest: bool) -> bool {
    let last = standing.last.map_or(0, |(seq, _)| seq);
    let seq = had.seq(standing.origin);
    if newest { seq > 0 && last > 0 } else { last > seq }
}

fn of_origin(
    tx: &mut dyn Tx,
    channel: ChannelRow,
    standing: &OriginState,
    had: &Cursor,
    newest: bool,
    limit: usize,
) -> Result<Vec<BoardEvent>, Failure> {
    let seq = had.seq(standing.origin).cast_signed();
    let values = values![channel.0, standing.origin.number(), seq, limit.saturating_add(1)];
    tx.all(if newest { &UP_TO } else { &AFTER }, values, row::event)
}
