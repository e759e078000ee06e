//! Writing a message.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    board::{
        Actor, Body, Channel, Event, EventId, NewMessage, Origin, Posted, Stamp, Visibility, What,
        Writer, check_post, check_repeated, mentioned,
    },
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    channels,
    origins::{self, ChannelRow, no_channel},
    people,
    row::{self, EVENT, EVENT_TABLES, event_id},
    search,
};
use crate::{column::number, failure::Failure};

const BEFORE: &str =
    "SELECT channel, origin, seq FROM board_messages WHERE author = ?1 AND client_id = ?2";
const EXISTS: &str = "SELECT 1 FROM board_messages WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const ADD_EVENT: &str = "INSERT INTO board_events \
    (channel, origin, seq, at, kind, author, target_origin, target_seq, body, sign, flag) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const ADD_MESSAGE: &str = "INSERT INTO board_messages \
    (channel, origin, seq, at, author, client_id, body, reply_origin, reply_seq, picture) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const ADD_MENTION: &str =
    "INSERT INTO board_mentions (username, channel, origin, seq) VALUES (?1, ?2, ?3, ?4)";
const WROTE: &str = "INSERT INTO board_visits (person, channel, wrote_at) VALUES (?1, ?2, ?3) \
    ON CONFLICT DO UPDATE SET wrote_at = excluded.wrote_at";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 6] =
    [BEFORE, EXISTS, ADD_EVENT, ADD_MESSAGE, ADD_MENTION, WROTE];

/// The statement that reads one event.
pub(crate) fn one_event() -> String {
    format!(
        "SELECT {EVENT} FROM {EVENT_TABLES} WHERE e.channel = ?1 AND e.origin = ?2 AND e.seq = ?3"
    )
}

/// Stores a message, or finds the one that it is.
pub(super) fn post(
    connection: &Connection,
    origin: Origin,
    new: NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Posted, Failure> {
    let person = by.id();
    let (row, channel, id, at) = match checked(connection, origin, &new, by, now)? {
        Checked::Before(event) => return Ok(Posted::Before(event)),
        Checked::New(row, channel, id, at) => (row, channel, id, at),
    };
    people::note(connection, &by.profile)?;
    add(connection, row, id, at, &new, by)?;
    if channel.slow_mode_s > 0 {
        let wrote = (person.number(), row.0, now.as_microsecond());
        connection.prepare_cached(WROTE)?.execute(wrote)?;
    }
    let NewMessage { body, reply_to, picture, .. } = new;
    let what = What::Message { body: Some(body), reply_to, picture, visibility: Visibility::Shown };
    Ok(Posted::New(Event { id, at, by: by.profile.clone(), what }))
}

/// What would come of a message: the one that it is, or nothing.
pub(super) fn foresee(
    connection: &Connection,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Event>, Failure> {
    Ok(match checked(connection, origin, new, by, now)? {
        Checked::Before(event) => Some(event),
        Checked::New(..) => None,
    })
}

/// What a message is that may be posted: one that is there, or a new one with its place.
enum Checked {
    Before(Event),
    New(ChannelRow, Channel, EventId, Stamp),
}

fn checked(
    connection: &Connection,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Checked, Failure> {
    let (row, channel) = channels::find(connection, &new.channel)?.ok_or_else(no_channel)?;
    let mut before = connection.prepare_cached(BEFORE)?;
    let before = before.query_row((by.id().number(), new.client_id.as_str()), |found| {
        Ok((ChannelRow(found.get(0)?), event_id(found, 1)?))
    });
    if let Some((at, id)) = before.optional()? {
        return posted_before(connection, new, at == row, at, id).map(Checked::Before);
    }
    let (id, at) = origins::next(connection, row, origin, now)?;
    check_post(&writer(connection, by, row, &channel)?, by, now)?;
    if let Some(answered) = new.reply_to {
        check_exists(connection, row, answered)?;
    }
    Ok(Checked::New(row, channel, id, at))
}

/// What may be told of a message that comes again.
fn posted_before(
    connection: &Connection,
    new: &NewMessage,
    same_channel: bool,
    channel: ChannelRow,
    id: EventId,
) -> Result<Event, Failure> {
    let event = one(connection, channel, id)?;
    let first = if let What::Message { body, .. } = &event.what { body.as_ref() } else { None };
    check_repeated(new, same_channel, first)?;
    Ok(event)
}

/// An event that is there.
fn one(connection: &Connection, channel: ChannelRow, id: EventId) -> Result<Event, Failure> {
    let mut statement = connection.prepare_cached(&one_event())?;
    let name = (channel.0, id.origin.number(), number(id.seq)?);
    let event = statement.query_row(name, row::event).optional()?;
    event.ok_or_else(|| Error::internal("a message without its event").into())
}

/// What is known of whoever writes.
fn writer(
    connection: &Connection,
    by: &Actor,
    row: ChannelRow,
    channel: &Channel,
) -> Result<Writer, Failure> {
    let is_banned = people::is_banned(connection, by.id())?;
    let slow_mode_s = channel.slow_mode_s;
    let last_at = if slow_mode_s > 0 { people::wrote_at(connection, by.id(), row)? } else { None };
    Ok(Writer { is_banned, last_at, slow_mode_s, is_archived: channel.is_archived })
}

pub(super) fn check_exists(
    connection: &Connection,
    channel: ChannelRow,
    id: EventId,
) -> Result<(), Failure> {
    let name = (channel.0, id.origin.number(), number(id.seq)?);
    if connection.prepare_cached(EXISTS)?.exists(name)? {
        return Ok(());
    }
    Err(no_message().into())
}

pub(super) fn no_message() -> Error {
    Error::not_found("there is no such message in this channel")
}

pub(crate) fn add(
    connection: &Connection,
    channel: ChannelRow,
    id: EventId,
    at: Stamp,
    new: &NewMessage,
    by: &Actor,
) -> Result<(), Failure> {
    let author = by.id().number();
    let what = Stored { kind: row::MESSAGE, ..Stored::default() };
    add_event(connection, channel, id, at, author, &what)?;
    let (origin, seq) = (id.origin.number(), number(id.seq)?);
    let reply_origin = new.reply_to.map(|id| id.origin.number());
    let reply_seq = new.reply_to.map(|id| number(id.seq)).transpose()?;
    let picture = new.picture.as_ref().map(|picture| *picture.bytes());
    connection.prepare_cached(ADD_MESSAGE)?.execute((
        channel.0,
        origin,
        seq,
        at.microseconds(),
        author,
        new.client_id.as_str(),
        new.body.as_str(),
        reply_origin,
        reply_seq,
        picture,
    ))?;
    search::index(connection, connection.last_insert_rowid(), channel, &new.body)?;
    add_mentions(connection, channel, id, &new.body)
}

/// Notes whom a message names.
pub(super) fn add_mentions(
    connection: &Connection,
    channel: ChannelRow,
    id: EventId,
    body: &Body,
) -> Result<(), Failure> {
    let (origin, seq) = (id.origin.number(), number(id.seq)?);
    for username in mentioned(body) {
        let mention = (username.as_str(), channel.0, origin, seq);
        connection.prepare_cached(ADD_MENTION)?.execute(mention)?;
    }
    Ok(())
}

/// The columns of an event beside its name.
#[derive(Default)]
pub(super) struct Stored<'a> {
    pub(super) kind: i64,
    pub(super) target: Option<EventId>,
    pub(super) body: Option<&'a str>,
    pub(super) sign: Option<&'a str>,
    pub(super) flag: Option<bool>,
}

/// Adds an event to what has happened.
pub(super) fn add_event(
    connection: &Connection,
    channel: ChannelRow,
    id: EventId,
    at: Stamp,
    author: i64,
    what: &Stored<'_>,
) -> Result<(), Failure> {
    let target_seq = what.target.map(|target| number(target.seq)).transpose()?;
    connection.prepare_cached(ADD_EVENT)?.execute((
        channel.0,
        id.origin.number(),
        number(id.seq)?,
        at.microseconds(),
        what.kind,
        author,
        what.target.map(|target| target.origin.number()),
        target_seq,
        what.body,
        what.sign,
        what.flag,
    ))?;
    Ok(())
}
