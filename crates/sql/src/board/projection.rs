//! The state of messages, projected from the event log.

use lodge_domain::{
    Error,
    accounts::PictureId,
    board::{
        BoardEventContent, Body, ClientId, EventId, EventSortKey, MessageState, Reaction, Stamp,
        Visibility, mentioned,
    },
};

use super::{
    ChannelRow, LoggedEvent, WordIndex,
    row::{self, event_id, event_key, id_values, visibility_number},
};
use crate::{
    Failure, Row, Tx,
    statement::{pair, same, statements},
    tx::values,
};

macro_rules! of_edits {
    () => {
        "WHERE channel = ? AND target_origin = ? AND target_seq = ? AND kind = 2"
    };
}

statements! {
    FIND = same("SELECT m.row, m.author, m.visibility, m.edited_at, m.text_origin, m.text_seq, \
        m.hidden_at, m.hidden_origin, m.hidden_seq, m.picture, t.body FROM board_messages m \
        LEFT JOIN board_events t ON t.channel = m.channel AND t.origin = m.text_origin AND t.seq = m.text_seq \
        WHERE m.channel = ? AND m.origin = ? AND m.seq = ?");
    ADD = same("INSERT INTO board_messages \
        (channel, origin, seq, text_origin, text_seq, visibility) VALUES (?, ?, ?, ?, ?, 0)");
    ADD_WRITTEN = same("INSERT INTO board_messages \
        (channel, origin, seq, text_origin, text_seq, visibility, at, author, client_id, reply_origin, reply_seq, picture) \
        VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)");
    FILL = same("UPDATE board_messages SET at = ?, author = ?, client_id = ?, reply_origin = ?, reply_seq = ?, \
        picture = ? WHERE channel = ? AND origin = ? AND seq = ?");
    CHANGE = same("UPDATE board_messages SET visibility = ?, edited_at = ?, text_origin = ?, text_seq = ?, \
        hidden_at = ?, hidden_origin = ?, hidden_seq = ? WHERE channel = ? AND origin = ? AND seq = ?");
    /// All messages that an author has sent under one client id.
    SENT = same("SELECT channel, origin, seq, at FROM board_messages WHERE author = ? AND client_id = ?");
    ADD_MENTION = same("INSERT INTO board_mentions (username, channel, origin, seq) VALUES (?, ?, ?, ?)");
    REMOVE_MENTION = same("DELETE FROM board_mentions WHERE username = ? AND channel = ? AND origin = ? AND seq = ?");
    REACTED = same("SELECT at, event_origin, event_seq FROM board_reactions \
        WHERE channel = ? AND origin = ? AND seq = ? AND sign = ? AND person = ?");
    ADD_REACTION = same("INSERT INTO board_reactions \
        (at, event_origin, event_seq, is_removed, channel, origin, seq, sign, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    CHANGE_REACTION = same("UPDATE board_reactions SET at = ?, event_origin = ?, event_seq = ?, is_removed = ? \
        WHERE channel = ? AND origin = ? AND seq = ? AND sign = ? AND person = ?");
    ERASE = same("UPDATE board_events SET body = NULL, picture = NULL WHERE channel = ? AND origin = ? AND seq = ?");
    /// Without the hint, `SQLite` prefers a scan of the channel's log to an index that is not covering.
    ERASE_EDITS = pair(
        concat!("UPDATE board_events INDEXED BY board_edits SET body = NULL ", of_edits!()),
        concat!("UPDATE board_events SET body = NULL ", of_edits!()),
    );
    ERASE_PICTURE = same("UPDATE board_messages SET picture = NULL WHERE channel = ? AND origin = ? AND seq = ?");
    ERASE_REACTIONS = same("DELETE FROM board_reactions WHERE channel = ? AND origin = ? AND seq = ?");
}

/// The error for a message that the channel does not have.
pub(super) fn no_message() -> Error {
    Error::not_found("there is no such message in this channel")
}

/// The projected state of a message.
pub(super) struct Found {
    row: i64,
    /// The author's number; `None` before the message itself has arrived.
    pub(super) author: Option<i64>,
    pub(super) body: Option<Body>,
    pub(super) picture: Option<PictureId>,
    pub(super) state: MessageState,
}

impl Found {
    /// Returns the text, if the message is shown.
    fn shown(&self) -> Option<&Body> {
        let is_shown = self.author.is_some() && self.state.visibility() == Visibility::Shown;
        self.body.as_ref().filter(|_| is_shown)
    }
}

/// Finds a message, also one that is known only by later events about it.
pub(super) fn find(
    tx: &mut dyn Tx,
    channel: ChannelRow,
    id: EventId,
) -> Result<Option<Found>, Failure> {
    tx.one(&FIND, &event_key(channel, id), |row| {
        let visibility = row::visibility(row.get(2)?)?;
        let hide = sort_key(row, 6)?.map(|at| (at, visibility == Visibility::Hidden));
        let is_deleted = visibility == Visibility::Deleted;
        Ok(Found {
            row: row.get(0)?,
            author: row.get(1)?,
            body: row::body(row, 10)?,
            picture: row::picture(row, 9)?,
            state: MessageState { edit: sort_key(row, 3)?, hide, is_deleted },
        })
    })
}

/// Reads an event's sort key from three columns; `None` if the time is NULL.
fn sort_key(row: Row<'_>, first: usize) -> Result<Option<EventSortKey>, Failure> {
    let at = row.get::<Option<i64>>(first)?.map(Stamp::stored);
    Ok(at.zip(event_id(row, first + 1)?))
}

/// Updates the state of the message that an event creates or targets.
pub(super) fn project(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    event: &LoggedEvent<'_>,
) -> Result<(), Failure> {
    let (channel, id) = (event.channel, event.message());
    let found = find(tx, channel, id)?;
    let before = found.as_ref().map_or_else(MessageState::default, |found| found.state);
    let mut state = before;
    state.apply((event.at, event.id), event.content);
    let written = write(tx, event, found.is_some())?;
    if let Some(row) = written {
        return show(tx, words, row, event);
    }
    // An event that arrives after the deletion changes no state, but its text must be erased.
    if state != before
        || state.is_deleted
        || matches!(event.content, BoardEventContent::Message { .. })
    {
        change(tx, words, (channel, id), found.as_ref(), state)?;
    }
    if let BoardEventContent::Reaction { reaction, is_removed, .. } = event.content
        && !state.is_deleted
    {
        store_reaction(tx, event, id, *reaction, *is_removed)?;
    }
    Ok(())
}

/// Writes the columns that only the message itself has, or a placeholder row if another event about it came first.
/// Returns the row of a message that had no row before.
fn write(tx: &mut dyn Tx, event: &LoggedEvent<'_>, is_there: bool) -> Result<Option<i64>, Failure> {
    let [channel, origin, seq] = event_key(event.channel, event.message());
    let BoardEventContent::Message { reply_to, picture, .. } = event.content else {
        if !is_there {
            tx.execute(&ADD, values![channel, origin, seq, origin, seq])?;
        }
        return Ok(None);
    };
    let (at, author) = (event.at.microseconds(), event.author.number());
    let client_id = event.client_id.map(ClientId::as_str);
    let [reply_origin, reply_seq] = id_values(*reply_to);
    let picture = picture.as_ref().map(PictureId::bytes);
    if is_there {
        let values =
            values![at, author, client_id, reply_origin, reply_seq, picture, channel, origin, seq];
        return tx.execute(&FILL, values).map(|_| None);
    }
    let values = values![
        channel,
        origin,
        seq,
        origin,
        seq,
        at,
        author,
        client_id,
        reply_origin,
        reply_seq,
        picture
    ];
    let row = tx.insert(&ADD_WRITTEN, values)?;
    row.map(Some).ok_or_else(|| Error::internal("a message has two rows").into())
}

/// Adds the words and mentions of a new message that has no earlier event about it.
fn show(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    row: i64,
    event: &LoggedEvent<'_>,
) -> Result<(), Failure> {
    let BoardEventContent::Message { body: Some(body), .. } = event.content else { return Ok(()) };
    words.add(tx, row, event.channel, body)?;
    mention(tx, &ADD_MENTION, event.channel, event.id, body)
}

/// Saves the new state of a message, and updates its words and mentions to the text that is now shown.
fn change(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    (channel, id): (ChannelRow, EventId),
    before: Option<&Found>,
    state: MessageState,
) -> Result<(), Failure> {
    if before.map_or_else(MessageState::default, |before| before.state) != state {
        save(tx, (channel, id), state)?;
    }
    let now = find(tx, channel, id)?.ok_or_else(no_message)?;
    let (said, says) = (before.and_then(Found::shown), now.shown());
    if said != says {
        if let Some(body) = said {
            words.remove(tx, now.row, channel, body)?;
            mention(tx, &REMOVE_MENTION, channel, id, body)?;
        }
        if let Some(body) = says {
            words.add(tx, now.row, channel, body)?;
            mention(tx, &ADD_MENTION, channel, id, body)?;
        }
    }
    if state.is_deleted {
        for statement in [&ERASE, &ERASE_EDITS, &ERASE_PICTURE, &ERASE_REACTIONS] {
            tx.execute(statement, &event_key(channel, id))?;
        }
    }
    Ok(())
}

fn save(
    tx: &mut dyn Tx,
    (channel, id): (ChannelRow, EventId),
    state: MessageState,
) -> Result<(), Failure> {
    let [channel, origin, seq] = event_key(channel, id);
    let [text_origin, text_seq] = id_values(Some(state.edit.map_or(id, |(_, edit)| edit)));
    let hide = state.hide.map(|(place, _)| place);
    let [hidden_origin, hidden_seq] = id_values(hide.map(|(_, hide)| hide));
    let values = values![
        visibility_number(state.visibility()),
        state.edit.map(|(at, _)| at.microseconds()),
        text_origin,
        text_seq,
        hide.map(|(at, _)| at.microseconds()),
        hidden_origin,
        hidden_seq,
        channel,
        origin,
        seq
    ];
    tx.execute(&CHANGE, values).map(drop)
}

fn mention(
    tx: &mut dyn Tx,
    statement: &crate::Statement,
    channel: ChannelRow,
    id: EventId,
    body: &Body,
) -> Result<(), Failure> {
    let [channel, origin, seq] = event_key(channel, id);
    for username in mentioned(body) {
        tx.execute(statement, values![username.as_str(), channel, origin, seq])?;
    }
    Ok(())
}

/// Stores a reaction event; of one member's events about the same reaction the latest wins.
fn store_reaction(
    tx: &mut dyn Tx,
    event: &LoggedEvent<'_>,
    message: EventId,
    reaction: Reaction,
    is_removed: bool,
) -> Result<(), Failure> {
    let [channel, origin, seq] = event_key(event.channel, message);
    let (sign, person) = (reaction.emoji(), event.author.number());
    let key = values![channel, origin, seq, sign, person];
    let statement = match tx.one(&REACTED, key, |row| sort_key(row, 0))?.flatten() {
        None => &ADD_REACTION,
        Some(known) if known < (event.at, event.id) => &CHANGE_REACTION,
        Some(_) => return Ok(()),
    };
    let [event_origin, event_seq] = id_values(Some(event.id));
    let at = event.at.microseconds();
    let values =
        values![at, event_origin, event_seq, is_removed, channel, origin, seq, sign, person];
    tx.execute(statement, values).map(drop)
}

/// Marks all but the first message that an author has sent under one client id as deleted. One database accepts only
/// one; two databases that are out of contact may each accept one.
pub(super) fn delete_repetitions(
    tx: &mut dyn Tx,
    words: &dyn WordIndex,
    event: &LoggedEvent<'_>,
) -> Result<(), Failure> {
    let mut sent = tx.all(
        &SENT,
        values![event.author.number(), event.client_id.map(ClientId::as_str)],
        |row| Ok((Stamp::stored(row.get(3)?), row::id(row, 1)?, ChannelRow(row.get(0)?))),
    )?;
    sent.sort_unstable_by_key(|(at, id, channel)| (*at, *id, channel.0));
    for (_, id, channel) in sent.into_iter().skip(1) {
        let found = find(tx, channel, id)?;
        if let Some(found) = found.filter(|found| !found.state.is_deleted) {
            let state = MessageState { is_deleted: true, ..found.state };
            change(tx, words, (channel, id), Some(&found), state)?;
        }
    }
    Ok(())
}
