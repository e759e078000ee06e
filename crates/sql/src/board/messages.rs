//! Queries of messages, their history, and search.

use std::cmp::Reverse;

use lodge_domain::board::{
    Actor, EDITS_MAX, EventId, Message, MessageRange, MessageSearch, MessagesPage, MessagesQuery,
    PersonId, Slug, Stamp, Version, Visibility,
};

use super::{
    ChannelRow, WordIndex, origins,
    projection::no_message,
    row::{self, Reader, event_key, select_messages},
};
use crate::{
    Failure, Row, Statement, Tx, Value,
    statement::{pair, same, statements},
    tx::values,
};

macro_rules! of_edits {
    () => {
        "WHERE channel = ? AND target_origin = ? AND target_seq = ? AND kind = 2 ORDER BY at, origin, seq LIMIT ?"
    };
}

statements! {
    LAST = same(select_messages!("WHERE m.channel = ? ORDER BY m.at DESC, m.origin DESC, m.seq DESC LIMIT ?"));
    /// The last messages before a position.
    BEFORE = same(select_messages!("WHERE m.channel = ? AND (m.at, m.origin, m.seq) < (?, ?, ?) \
        ORDER BY m.at DESC, m.origin DESC, m.seq DESC LIMIT ?"));
    /// The first messages after a position.
    AFTER = same(select_messages!("WHERE m.channel = ? AND (m.at, m.origin, m.seq) > (?, ?, ?) \
        ORDER BY m.at, m.origin, m.seq LIMIT ?"));
    /// The first messages from a position on.
    FROM = same(select_messages!("WHERE m.channel = ? AND (m.at, m.origin, m.seq) >= (?, ?, ?) \
        ORDER BY m.at, m.origin, m.seq LIMIT ?"));
    WRITTEN = same(select_messages!("WHERE m.author = ? AND m.row > ? ORDER BY m.row LIMIT ?"));
    ONE = same(select_messages!("WHERE m.channel = ? AND m.origin = ? AND m.seq = ?"));
    BY_ROW = same(select_messages!("WHERE m.row = ?"));
    PLACE = same("SELECT at FROM board_messages WHERE channel = ? AND origin = ? AND seq = ? AND author IS NOT NULL");
    FIRST = same("SELECT e.at, e.body, m.visibility FROM board_messages m JOIN board_events e \
        ON e.channel = m.channel AND e.origin = m.origin AND e.seq = m.seq \
        WHERE m.channel = ? AND m.origin = ? AND m.seq = ?");
    EDITS = pair(
        concat!("SELECT at, body FROM board_events INDEXED BY board_edits ", of_edits!()),
        concat!("SELECT at, body FROM board_events ", of_edits!()),
    );
}

/// Statements that must read their rows in the order of an index.
pub(super) static PAGES: &[&Statement] = &[&LAST, &BEFORE, &AFTER, &FROM, &WRITTEN];

/// Returns a page of messages of a channel.
pub(super) fn page(tx: &mut dyn Tx, query: &MessagesQuery) -> Result<MessagesPage, Failure> {
    let channel = origins::channel(tx, &query.channel)?;
    let standings = origins::origin_states(tx, channel)?;
    let cursor = origins::end_cursor(&standings).folded(&origins::closed(&standings))?;
    let reader = Reader { person: query.reader, sees_hidden: false };
    let part = |tx: &mut dyn Tx, statement: &Statement, place: &[Value<'_>], limit: usize| {
        // One more than wanted says whether there are more.
        let values = [place, values![limit.saturating_add(1)]].concat();
        let found = row::messages(tx, statement, &values, reader)?;
        let more = found.len() > limit;
        let messages = found.into_iter().take(limit).map(|(_, message)| message).collect();
        Ok::<(Vec<Message>, bool), Failure>((messages, more))
    };
    let (none, limit) = (Vec::new, query.limit);
    let ((mut messages, more), (newer, has_newer)) = match query.range {
        MessageRange::Newest => (part(tx, &LAST, values![channel.0], limit)?, (none(), false)),
        MessageRange::Before(id) => {
            let place = position(tx, channel, id)?;
            (part(tx, &BEFORE, &place, limit)?, (none(), true))
        }
        MessageRange::After(id) => {
            let place = position(tx, channel, id)?;
            ((none(), true), part(tx, &AFTER, &place, limit)?)
        }
        MessageRange::Around(id) => {
            let place = position(tx, channel, id)?;
            let before = limit / 2;
            (part(tx, &BEFORE, &place, before)?, part(tx, &FROM, &place, limit - before)?)
        }
    };
    messages.reverse();
    messages.extend(newer);
    Ok(MessagesPage { messages, cursor, more, has_newer })
}

/// Returns the place of a message in the order of its channel: channel, time, origin, seq.
fn position(
    tx: &mut dyn Tx,
    channel: ChannelRow,
    id: EventId,
) -> Result<[Value<'static>; 4], Failure> {
    let key = event_key(channel, id);
    let at = tx.one(&PLACE, &key, |row| row.get::<i64>(0))?.ok_or_else(no_message)?;
    let [channel, origin, seq] = key;
    Ok([channel, Value::Int(at), origin, seq])
}

/// Returns one message; staff can read a hidden one.
pub(super) fn one(
    tx: &mut dyn Tx,
    slug: &Slug,
    id: EventId,
    reader: &Actor,
) -> Result<Option<Message>, Failure> {
    let channel = origins::channel(tx, slug)?;
    let reader = Reader { person: reader.id(), sees_hidden: reader.is_staff() };
    let found = row::messages(tx, &ONE, &event_key(channel, id), reader)?;
    Ok(found.into_iter().next().map(|(_, message)| message))
}

/// Returns the message in a row of `board_messages`.
pub(super) fn by_row(
    tx: &mut dyn Tx,
    row: i64,
    reader: Reader,
) -> Result<Option<Message>, Failure> {
    let found = row::messages(tx, &BY_ROW, values![row], reader)?;
    Ok(found.into_iter().next().map(|(_, message)| message))
}

/// Returns the former versions of a message, oldest first; none unless it is shown.
pub(super) fn history(tx: &mut dyn Tx, slug: &Slug, id: EventId) -> Result<Vec<Version>, Failure> {
    let channel = origins::channel(tx, slug)?;
    let first = tx.one(&FIRST, &event_key(channel, id), |row| {
        Ok((version(row)?, row::visibility(row.get(2)?)?))
    })?;
    let (Some(first), Visibility::Shown) = first.ok_or_else(no_message)? else {
        return Ok(Vec::new());
    };
    let [channel, origin, seq] = event_key(channel, id);
    let edits = tx.all(&EDITS, values![channel, origin, seq, EDITS_MAX], version)?;
    let mut versions: Vec<_> = [first].into_iter().chain(edits.into_iter().flatten()).collect();
    // The last version is the current text.
    versions.pop();
    Ok(versions)
}

fn version(row: Row<'_>) -> Result<Option<Version>, Failure> {
    let at = Stamp::stored(row.get(0)?);
    Ok(row::body(row, 1)?.map(|body| Version { at, body }))
}

/// Returns shown messages that contain all the words, newest first.
pub(super) fn search(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    search: &MessageSearch,
) -> Result<Vec<Message>, Failure> {
    let channel = search.channel.as_ref().map(|slug| origins::channel(tx, slug)).transpose()?;
    let reader = Reader { person: search.reader, sees_hidden: false };
    let mut messages = Vec::new();
    for row in words.find(tx, channel, &search.words, search.limit)? {
        messages.extend(by_row(tx, row, reader)?);
    }
    messages.sort_unstable_by_key(|message| Reverse((message.at, message.id)));
    Ok(messages)
}

/// Returns the messages of an author for export to that author, hidden ones included.
pub(super) fn written_by(
    tx: &mut dyn Tx,
    author: PersonId,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, Message)>, Failure> {
    let reader = Reader { person: author, sees_hidden: true };
    row::messages(tx, &WRITTEN, values![author.number(), after, limit], reader)
}
