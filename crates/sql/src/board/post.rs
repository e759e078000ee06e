//! Posting a message.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    board::{
        Actor, AuthorStatus, BoardEvent, BoardEventContent, Channel, EventId, NewMessage, Origin,
        Posted, Stamp, Visibility, check_post, check_repeated,
    },
};

use super::{
    ChannelRow, LoggedEvent, WordIndex, channels, members,
    origins::{self, no_channel},
    projection::no_message,
    record::record_new,
    row::{self, event_key, select_events},
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
        Checked::Repeated(event) => return Ok(Posted::Repeated(event)),
        Checked::New(row, channel, id, at) => (row, channel, id, at),
    };
    members::note(tx, &by.profile)?;
    let NewMessage { body, reply_to, picture, client_id, .. } = new;
    let what = BoardEventContent::Message {
        body: Some(body.clone()),
        reply_to: *reply_to,
        picture: *picture,
        visibility: Visibility::Shown,
    };
    let client_id = Some(client_id);
    record_new(
        tx,
        words,
        &LoggedEvent { channel: row, id, at, author: by.id(), content: &what, client_id },
    )?;
    if channel.slow_mode_s > 0 {
        tx.execute(&NOTE_WRITTEN, values![by.id().number(), row.0, now.as_microsecond()])?;
    }
    Ok(Posted::New(BoardEvent { id, at, by: by.profile.clone(), content: what }))
}

/// Checks a message without storing it; returns the message already stored under its client id, if any.
pub(super) fn dry_run(
    tx: &mut dyn Tx,
    origin: Origin,
    new: &NewMessage,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<BoardEvent>, Failure> {
    Ok(match checked(tx, origin, new, by, now)? {
        Checked::Repeated(event) => Some(event),
        Checked::New(..) => None,
    })
}

/// A message that may be posted: one already stored, or a new one with its id and time.
enum Checked {
    Repeated(BoardEvent),
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
        return posted_before(tx, new, at == row, at, id).map(Checked::Repeated);
    }
    let (id, at) = origins::next(tx, row, origin, now)?;
    check_post(&author_status(tx, by, row, &channel)?, by, now)?;
    if let Some(answered) = new.reply_to
        && !tx.exists(&EXISTS, &event_key(row, answered))?
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
) -> Result<BoardEvent, Failure> {
    let event = tx.one(&ONE, &event_key(channel, id), row::event)?;
    let event = event.ok_or_else(|| Error::internal("a message has no event"))?;
    let BoardEventContent::Message { body, reply_to, .. } = &event.content else {
        return Err(Error::internal("the event of a message is of another kind").into());
    };
    check_repeated(new, same_channel, body.as_ref(), *reply_to)?;
    Ok(event)
}

/// Reads the state of an author that posting depends on.
fn author_status(
    tx: &mut dyn Tx,
    by: &Actor,
    row: ChannelRow,
    channel: &Channel,
) -> Result<AuthorStatus, Failure> {
    let is_banned = members::is_banned(tx, by.id())?;
    let slow_mode_s = channel.slow_mode_s;
    let last_at = if slow_mode_s > 0 { members::wrote_at(tx, by.id(), row)? } else { None };
    Ok(AuthorStatus { is_banned, last_at, slow_mode_s, is_archived: channel.is_archived })
}
