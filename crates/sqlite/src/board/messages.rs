//! Messages as they stand.

use lodge_domain::board::{
    Actor, Body, EDITS_MAX, EventId, Message, MessagesPage, MessagesQuery, PersonId, Slug, Stamp,
    Version, Visibility,
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    origins,
    post::no_message,
    row::{self, MESSAGE_COLUMNS, MESSAGE_TABLES, Reader},
};
use crate::{
    column::{limit, number},
    failure::Failure,
};

const PLACE: &str = "SELECT at FROM board_messages WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const READABLE: &str = "SELECT m.at, m.body, e.body, m.visibility FROM board_messages m JOIN board_events e \
    ON e.channel = m.channel AND e.origin = m.origin AND e.seq = m.seq \
    WHERE m.channel = ?1 AND m.origin = ?2 AND m.seq = ?3";
const EDITS: &str = "SELECT at, body FROM board_events \
    WHERE channel = ?1 AND target_origin = ?2 AND target_seq = ?3 AND kind = 2 ORDER BY at LIMIT ?4";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 3] = [PLACE, READABLE, EDITS];

/// The statement that reads the last messages, before a place or of all.
pub(crate) fn page_sql(is_before: bool) -> String {
    let before = if is_before { "AND (m.at, m.origin, m.seq) < (?3, ?4, ?5)" } else { "" };
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.channel = ?1 {before} \
         ORDER BY m.at DESC, m.origin DESC, m.seq DESC LIMIT ?2"
    )
}

/// The statement that reads one message.
pub(crate) fn one_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.channel = ?1 AND m.origin = ?2 AND m.seq = ?3"
    )
}

/// The statement that reads what somebody wrote.
pub(crate) fn written_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.author = ?1 AND m.row > ?2 ORDER BY m.row LIMIT ?3"
    )
}

/// The last messages of a channel, or those before one.
pub(super) fn page(
    connection: &Connection,
    query: &MessagesQuery,
) -> Result<MessagesPage, Failure> {
    let channel = origins::channel(connection, &query.channel)?;
    let standings = origins::standings(connection, channel)?;
    let cursor = origins::everything(&standings).folded(&origins::closed(&standings))?;
    let reader = Reader { person: query.reader, sees_hidden: false };
    let at_most = limit(query.limit).saturating_add(1);
    let mut statement = connection.prepare_cached(&page_sql(query.before.is_some()))?;
    let mut rows = match query.before {
        None => statement.query((channel.0, at_most))?,
        Some(id) => {
            let (origin, seq) = (id.origin.number(), number(id.seq)?);
            let mut place = connection.prepare_cached(PLACE)?;
            let at = place.query_row((channel.0, origin, seq), |row| row.get::<_, i64>(0));
            let at = at.optional()?.ok_or_else(no_message)?;
            statement.query((channel.0, at_most, at, origin, seq))?
        }
    };
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(row::message(connection, row, reader)?);
    }
    let more = messages.len() > query.limit;
    messages.truncate(query.limit);
    messages.reverse();
    Ok(MessagesPage { messages, cursor, more })
}

/// One message; whoever keeps order sees it also if it is hidden.
pub(super) fn one(
    connection: &Connection,
    slug: &Slug,
    id: EventId,
    reader: &Actor,
) -> Result<Option<Message>, Failure> {
    let channel = origins::channel(connection, slug)?;
    let reader = Reader { person: reader.id(), sees_hidden: reader.is_staff() };
    let mut statement = connection.prepare_cached(&one_sql())?;
    let name = (channel.0, id.origin.number(), number(id.seq)?);
    Ok(statement.query_row(name, |row| row::message(connection, row, reader)).optional()?)
}

/// What a message that can be read was before.
pub(super) fn history(
    connection: &Connection,
    slug: &Slug,
    id: EventId,
) -> Result<Vec<Version>, Failure> {
    let channel = origins::channel(connection, slug)?;
    let name = (channel.0, id.origin.number(), number(id.seq)?);
    let mut statement = connection.prepare_cached(READABLE)?;
    let first = statement.query_row(name, |row| {
        let first = row.get::<_, Option<String>>(2)?;
        let body = if first.is_some() { first } else { row.get(1)? };
        let is_shown = row::visibility(3, row.get(3)?)? == Visibility::Shown;
        Ok(body.filter(|_| is_shown).map(|body| (row.get(0), body)))
    });
    let Some((at, body)) = first.optional()?.ok_or_else(no_message)? else { return Ok(Vec::new()) };
    let mut versions = vec![Version { at: Stamp::stored(at?), body: Body::stored(body) }];
    let mut edits = connection.prepare_cached(EDITS)?;
    let (channel, origin, seq) = name;
    let edits = edits.query_map((channel, origin, seq, EDITS_MAX), |row| {
        Ok(Version { at: Stamp::stored(row.get(0)?), body: Body::stored(row.get(1)?) })
    })?;
    for version in edits {
        versions.push(version?);
    }
    // The last is what it says.
    versions.pop();
    Ok(versions)
}

/// What somebody wrote, for themselves: also what is hidden from others.
pub(super) fn written_by(
    connection: &Connection,
    author: PersonId,
    after: i64,
    at_most: usize,
) -> Result<Vec<(i64, Message)>, Failure> {
    let reader = Reader { person: author, sees_hidden: true };
    let mut statement = connection.prepare_cached(&written_sql())?;
    let written = statement.query_map((author.number(), after, limit(at_most)), |row| {
        Ok((row.get(19)?, row::message(connection, row, reader)?))
    })?;
    Ok(written.collect::<Result<_, _>>()?)
}
