//! Appends to the event log, which is done only here.

use lodge_domain::{
    Error,
    accounts::PictureId,
    board::{BoardEventContent, Body, ClientId, EventId, PersonId, Stamp},
};

use super::{
    ChannelRow, WordIndex, projection,
    row::{DELETE, EDIT, HIDE, MESSAGE, REACTION, event_key, id_values},
};
use crate::{
    Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    APPEND = same("INSERT INTO board_events (channel, origin, seq, at, kind, author, target_origin, target_seq, \
        body, sign, flag, client_id, reply_origin, reply_seq, picture) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
}

/// An event as a row of the log.
#[derive(Debug, Clone, Copy)]
pub struct LoggedEvent<'a> {
    /// The channel.
    pub channel: ChannelRow,
    /// The event's origin and seq.
    pub id: EventId,
    /// The event's time.
    pub at: Stamp,
    /// The account or bot that caused the event.
    pub author: PersonId,
    /// The event's content.
    pub content: &'a BoardEventContent,
    /// The id that the client gave the message; `None` for other events.
    pub client_id: Option<&'a ClientId>,
}

impl LoggedEvent<'_> {
    /// Returns the message that the event creates or targets.
    pub(super) fn message(&self) -> EventId {
        self.content.target().unwrap_or(self.id)
    }
}

/// Appends an event to the log and updates the projections. Returns false, and changes nothing, if the log already has
/// an event with that id. Events of one origin must arrive in the order of their seqs; origins may interleave freely.
pub fn record(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    event: &LoggedEvent<'_>,
) -> Result<bool, Failure> {
    if !append(tx, event)? {
        return Ok(false);
    }
    projection::project(tx, words, event)?;
    if let BoardEventContent::Message { .. } = event.content {
        projection::delete_repetitions(tx, words, event)?;
    }
    Ok(true)
}

/// Records an event that this process has just numbered; a message only if no message has its client id.
pub(super) fn record_new(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    event: &LoggedEvent<'_>,
) -> Result<(), Failure> {
    if append(tx, event)? {
        return projection::project(tx, words, event);
    }
    Err(Error::internal(format!("the log already has an event {}", event.id)).into())
}

/// Appends an event to the log; returns false if the log already has its id.
fn append(tx: &mut dyn Tx, event: &LoggedEvent<'_>) -> Result<bool, Failure> {
    let [channel, origin, seq] = event_key(event.channel, event.id);
    let [target_origin, target_seq] = id_values(event.content.target());
    let (mut body, mut reply_to, mut picture, mut sign, mut flag) = (None, None, None, None, None);
    let kind = match event.content {
        BoardEventContent::Message { body: text, reply_to: answered, picture: shown, .. } => {
            (body, reply_to, picture) = (text.as_ref(), *answered, shown.as_ref());
            MESSAGE
        }
        BoardEventContent::Edit { body: text, .. } => {
            body = text.as_ref();
            EDIT
        }
        BoardEventContent::Delete { .. } => DELETE,
        BoardEventContent::Reaction { reaction, is_removed, .. } => {
            (sign, flag) = (Some(reaction.emoji()), Some(*is_removed));
            REACTION
        }
        BoardEventContent::Hide { is_hidden, .. } => {
            flag = Some(*is_hidden);
            HIDE
        }
    };
    let [reply_origin, reply_seq] = id_values(reply_to);
    let values = values![
        channel,
        origin,
        seq,
        event.at.microseconds(),
        kind,
        event.author.number(),
        target_origin,
        target_seq,
        body.map(Body::as_str),
        sign,
        flag,
        event.client_id.map(ClientId::as_str),
        reply_origin,
        reply_seq,
        picture.map(PictureId::bytes),
    ];
    Ok(tx.insert(&APPEND, values)?.is_some())
}
