//! Posting a message.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    board::{
        Actor, Channel, Event, EventId, NewMessage, Origin, Posted, Stamp, Visibility, What,
        Writer, check_post, check_repeated,
    },
};

use super::{
    ChannelRow, Recorded, WordIndex, channels,
    origins::{self, no_channel},
    people,
    projection::no_message,
    record::record_new,
    row::{self, name, select_events},
};
use crate::{
    Failure, Tx,
    statement::{pair, same, statements},
    tx::values,
};

statements! {
    /// The message that an author has sent under a client id; the first if there are two.
    BEFORE = same("SELECT channel, origin, seq FROM board_messages WHERE author = ? AND client_id = ? \
        ORDER BY at, origin, seq LIMIT 1");
    EXISTS = same("SELECT 1 FROM board_messages WHERE channel = ? AND origin = ? AND seq = ? AND author IS NOT NULL");
    ONE = same(select_events!("WHERE e.channel = ? AND e.origin = ? AND e.seq = ?"));
    NOTE_WRITTEN = pair(
        "INSERT INTO board_visits (person, channel, wrote_at) VALUES (?, ?, ?) \
            ON CONFLICT DO UPDATE SET wrote_at = excluded.wrote_at",
        "INSERT INTO board_visits (person, channel, wrote_at) VALUES (?, ?, ?) \
            ON DUPLICATE KEY UPDATE wrote_at = VALUES(wrote_at)",
    );
}

/// Stores a message, or returns the message already stored under its client id.
pub(super) fn post(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Posted, Failure> {
    origins::lock(tx, origin)?;
    let (row, channel, id, at) = match checked(tx, origin, new, by, now)? {
        Checked::Before(event) => return Ok(Posted::Before(event)),
        Checked::New(row, channel, id, at) => (row, channel, id, at),
    };
    people::note(tx, &by.profile)?;
    let NewMessage { body, reply_to, picture, client_id, .. } = new;
    let what = What::Message {
        body: Some(body.clone()),
        reply_to: *reply_to,
        picture: *picture,
        visibility: Visibility::Shown,
    };
    let client_id = Some(client_id);
    record_new(
        tx,
        words,
        &Recorded { channel: row, id, at, author: by.id(), what: &what, client_id },
    )?;
    if channel.slow_mode_s > 0 {
        tx.execute(&NOTE_WRITTEN, values![by.id().number(), row.0, now.as_microsecond()])?;
    }
    Ok(Posted::New(Event { id, at, by: by.profile.clone(), what }))
}

/// Checks a message without storing it; returns the message already stored under its client id, if any.
pub(super) fn foresee(
    tx: &mut dyn Tx,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Event>, Failure> {
    Ok(match checked(tx, origin, new, by, now)? {
        Checked::Before(event) => Some(event),
        Checked::New(..) => None,
    })
}

/// A message that may be posted: one already stored, or a new one with its id and time.
enum Checked {
    Before(Event),
    New(ChannelRow, Channel, EventId, Stamp),
}

fn checked(
    tx: &mut dyn Tx,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Checked, Failure> {
    let (row, channel) = channels::find(tx, &new.channel)?.ok_or_else(no_channel)?;
    let sent = values![by.id().number(), new.client_id.as_str()];
    let before =
        tx.one(&BEFORE, sent, |found| Ok((ChannelRow(found.get(0)?), row::id(found, 1)?)))?;
    if let Some((at, id)) = before {
        return posted_before(tx, new, at == row, at, id).map(Checked::Before);
    }
    let (id, at) = origins::next(tx, row, origin, now)?;
    check_post(&writer(tx, by, row, &channel)?, by, now)?;
    if let Some(answered) = new.reply_to
        && !tx.exists(&EXISTS, &name(row, answered))?
    {
        return Err(no_message().into());
    }
    Ok(Checked::New(row, channel, id, at))
}

/// Returns the stored event of a repeated message, if the repetition matches it.
fn posted_before(
    tx: &mut dyn Tx,
    new: &NewMessage,
    same_channel: bool,
    channel: ChannelRow,
    id: EventId,
) -> Result<Event, Failure> {
    let event = tx.one(&ONE, &name(channel, id), row::event)?;
    let event = event.ok_or_else(|| Error::internal("a message has no event"))?;
    let first = if let What::Message { body, .. } = &event.what { body.as_ref() } else { None };
    check_repeated(new, same_channel, first)?;
    Ok(event)
}

/// Reads the state of an author that posting depends on.
fn writer(
    tx: &mut dyn Tx,
    by: &Actor,
    row: ChannelRow,
    channel: &Channel,
) -> Result<Writer, Failure> {
    let is_banned = people::is_banned(tx, by.id())?;
    let slow_mode_s = channel.slow_mode_s;
    let last_at = if slow_mode_s > 0 { people::wrote_at(tx, by.id(), row)? } else { None };
    Ok(Writer { is_banned, last_at, slow_mode_s, is_archived: channel.is_archived })
}
