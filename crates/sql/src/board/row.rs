//! Conversions between rows of the board and values of the domain.

use std::collections::BTreeSet;

use lodge_domain::{
    Error,
    accounts::{PictureId, Username},
    board::{
        BoardEvent, BoardEventContent, Body, EventId, Message, Origin, PersonId, Profile, Quote,
        Reaction, ReactionCount, Slug, Stamp, Visibility, mentioned,
    },
};

use super::ChannelRow;
use crate::{
    Failure, Row, Statement, Tx, Value,
    accounts::role,
    statement::{same, statements},
    tx::values,
};

/// Values of `board_events.kind`.
pub(super) const MESSAGE: i64 = 1;
pub(super) const EDIT: i64 = 2;
pub(super) const DELETE: i64 = 3;
pub(super) const REACTION: i64 = 4;
pub(super) const HIDE: i64 = 5;

/// Returns the number that stores a visibility.
pub(super) fn visibility_number(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Shown => 0,
        Visibility::Hidden => 1,
        Visibility::Deleted => 2,
    }
}

/// Returns the visibility that a number stores.
pub(super) fn visibility(number: i64) -> Result<Visibility, Failure> {
    Ok(match number {
        0 => Visibility::Shown,
        1 => Visibility::Hidden,
        2 => Visibility::Deleted,
        _ => return Err(Error::internal(format!("unknown visibility number {number}")).into()),
    })
}

/// The values of the columns that name an event: channel, origin, seq.
pub(super) fn event_key(channel: ChannelRow, id: EventId) -> [Value<'static>; 3] {
    let [origin, seq] = id_values(Some(id));
    [Value::Int(channel.0), origin, seq]
}

/// The values of two columns that name an event of the same channel; NULL for `None`.
pub(super) fn id_values(id: Option<EventId>) -> [Value<'static>; 2] {
    let Some(id) = id else { return [Value::Null; 2] };
    // The seq fits an i64: parsing ensures it, and new ones count up from 1.
    [Value::Int(id.origin.number().into()), Value::Int(id.seq.cast_signed())]
}

/// Reads two columns that name an event; `None` if they are NULL.
pub(super) fn event_id(row: Row<'_>, first: usize) -> Result<Option<EventId>, Failure> {
    let Some(number) = row.get::<Option<u32>>(first)? else { return Ok(None) };
    let origin = Origin::new(number).ok_or_else(|| Error::internal("an event has no origin"))?;
    Ok(Some(EventId { origin, seq: row.get(first + 1)? }))
}

/// Reads two columns that name an event.
pub(super) fn id(row: Row<'_>, first: usize) -> Result<EventId, Failure> {
    event_id(row, first)?.ok_or_else(|| Error::internal("an event has no id").into())
}

/// The columns that [`profile`] reads, in order, of the table `board_people` as `p`.
macro_rules! profile_columns {
    () => {
        "p.person, p.username, p.nickname, p.picture, p.role"
    };
}

/// Reads the columns of a profile, the first of which is at `first`.
pub(super) fn profile(row: Row<'_>, first: usize) -> Result<Profile, Failure> {
    Ok(Profile {
        person: PersonId::numbered(row.get(first)?),
        username: row.get(first + 1)?,
        nickname: row.get(first + 2)?,
        picture: picture(row, first + 3)?,
        role: role(row.get(first + 4)?)?,
    })
}

/// Reads a picture's id; `None` if the column is NULL.
pub(super) fn picture(row: Row<'_>, column: usize) -> Result<Option<PictureId>, Failure> {
    Ok(row.get::<Option<[u8; 32]>>(column)?.map(PictureId::stored))
}

/// Reads a message text; `None` if the column is NULL.
pub(super) fn body(row: Row<'_>, column: usize) -> Result<Option<Body>, Failure> {
    Ok(row.get::<Option<String>>(column)?.map(Body::stored))
}

/// A query for events: `board_events` as `e`, its author as `p`, and the message that it creates or targets as `m`.
macro_rules! select_events {
    ($which:literal) => {
        concat!(
            "SELECT e.origin, e.seq, e.at, e.kind, e.target_origin, e.target_seq, e.body, e.sign, e.flag, \
             e.reply_origin, e.reply_seq, e.picture, m.visibility, ",
            crate::board::row::profile_columns!(),
            " FROM board_events e JOIN board_people p ON p.person = e.author \
             JOIN board_messages m ON m.channel = e.channel AND m.origin = coalesce(e.target_origin, e.origin) \
             AND m.seq = coalesce(e.target_seq, e.seq) ",
            $which
        )
    };
}

/// Reads a row of [`select_events`], without the text and picture of a message that is not shown.
pub(super) fn event(row: Row<'_>) -> Result<BoardEvent, Failure> {
    let visibility = visibility(row.get(12)?)?;
    let is_shown = visibility == Visibility::Shown;
    let body = body(row, 6)?.filter(|_| is_shown);
    let target = event_id(row, 4)?;
    let target = || target.ok_or_else(|| Error::internal("an event has no target"));
    let what = match row.get(3)? {
        MESSAGE => {
            let picture = picture(row, 11)?.filter(|_| is_shown);
            BoardEventContent::Message { body, reply_to: event_id(row, 9)?, picture, visibility }
        }
        EDIT => BoardEventContent::Edit { target: target()?, body },
        DELETE => BoardEventContent::Delete { target: target()? },
        REACTION => BoardEventContent::Reaction {
            target: target()?,
            reaction: Reaction::parse(&row.get::<String>(7)?)?,
            is_removed: row.get(8)?,
        },
        HIDE => BoardEventContent::Hide { target: target()?, is_hidden: row.get(8)? },
        kind => return Err(Error::internal(format!("unknown event kind {kind}")).into()),
    };
    Ok(BoardEvent {
        id: id(row, 0)?,
        at: Stamp::stored(row.get(2)?),
        by: profile(row, 13)?,
        content: what,
    })
}

/// A query for messages: `board_messages` as `m`, its author as `p`, its channel as `c`, the event with its text as
/// `t`; the message that it replies to as `r`, with the author as `q` and the text as `s`.
macro_rules! select_messages {
    ($which:literal) => {
        concat!(
            "SELECT m.origin, m.seq, c.slug, m.at, t.body, m.visibility, m.edited_at, m.picture, \
             r.origin, r.seq, s.body, r.visibility, q.username, q.nickname, m.channel, m.row, ",
            crate::board::row::profile_columns!(),
            " FROM board_messages m JOIN board_people p ON p.person = m.author \
             JOIN board_channels c ON c.row = m.channel \
             JOIN board_events t ON t.channel = m.channel AND t.origin = m.text_origin AND t.seq = m.text_seq \
             LEFT JOIN board_messages r ON r.channel = m.channel AND r.origin = m.reply_origin AND r.seq = m.reply_seq \
             AND r.author IS NOT NULL \
             LEFT JOIN board_events s ON s.channel = r.channel AND s.origin = r.text_origin AND s.seq = r.text_seq \
             LEFT JOIN board_people q ON q.person = r.author ",
            $which
        )
    };
}
pub(super) use {profile_columns, select_events, select_messages};

statements! {
    REACTIONS = same("SELECT sign, count(*), max(person = ?) FROM board_reactions \
        WHERE channel = ? AND origin = ? AND seq = ? AND NOT is_removed GROUP BY sign");
    IS_MEMBER = same("SELECT 1 FROM board_people WHERE username = ?");
    /// The name of a bot may have capital letters.
    IS_BOT = same("SELECT 1 FROM board_people WHERE person < 0 AND lower(username) = ?");
}

/// The reader of messages: decides which reactions are `is_mine`, and whether hidden messages are readable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) person: PersonId,
    pub(super) sees_hidden: bool,
}

impl Reader {
    fn can_read(self, visibility: Visibility) -> bool {
        match visibility {
            Visibility::Shown => true,
            Visibility::Hidden => self.sees_hidden,
            Visibility::Deleted => false,
        }
    }
}

/// Returns the messages that a [`select_messages`] query finds, each with its row number.
pub(super) fn messages(
    tx: &mut dyn Tx,
    statement: &Statement,
    values: &[Value<'_>],
    reader: Reader,
) -> Result<Vec<(i64, Message)>, Failure> {
    let read =
        |row: Row<'_>| Ok((ChannelRow(row.get(14)?), row.get::<i64>(15)?, message(row, reader)?));
    let found = tx.all(statement, values, read)?;
    let with_reactions = |(channel, row, mut message): (_, _, Message)| {
        if let Some(body) = &message.body {
            message.mentions = mentions(tx, body)?;
        }
        if reader.can_read(message.visibility) {
            message.reactions = reactions(tx, channel, message.id, reader.person)?;
        }
        Ok((row, message))
    };
    found.into_iter().map(with_reactions).collect()
}

/// Returns the members whom a text mentions.
fn mentions(tx: &mut dyn Tx, body: &Body) -> Result<BTreeSet<Username>, Failure> {
    let mut members = BTreeSet::new();
    for name in mentioned(body) {
        let key = values![name.as_str()];
        if tx.exists(&IS_MEMBER, key)? || tx.exists(&IS_BOT, key)? {
            members.insert(name);
        }
    }
    Ok(members)
}

/// Reads a row of [`select_messages`] as far as the reader may read it, without mentions and reactions.
fn message(row: Row<'_>, reader: Reader) -> Result<Message, Failure> {
    let visibility = visibility(row.get(5)?)?;
    let is_readable = reader.can_read(visibility);
    Ok(Message {
        id: id(row, 0)?,
        channel: Slug::stored(row.get(2)?),
        at: Stamp::stored(row.get(3)?),
        by: profile(row, 16)?,
        body: body(row, 4)?.filter(|_| is_readable),
        mentions: BTreeSet::new(),
        visibility,
        edited_at: row.get::<Option<i64>>(6)?.map(Stamp::stored),
        reply_to: if is_readable { quote(row)? } else { None },
        picture: picture(row, 7)?.filter(|_| is_readable),
        reactions: Vec::new(),
    })
}

fn quote(row: Row<'_>) -> Result<Option<Quote>, Failure> {
    let Some(id) = event_id(row, 8)? else { return Ok(None) };
    let is_shown = visibility(row.get(11)?)? == Visibility::Shown;
    let name = |column| Ok::<_, Failure>(row.get::<Option<String>>(column)?.unwrap_or_default());
    let body = body(row, 10)?.filter(|_| is_shown);
    Ok(Some(Quote { id, username: name(12)?, nickname: name(13)?, body }))
}

fn reactions(
    tx: &mut dyn Tx,
    channel: ChannelRow,
    id: EventId,
    reader: PersonId,
) -> Result<Vec<ReactionCount>, Failure> {
    let [channel, origin, seq] = event_key(channel, id);
    let values = values![reader.number(), channel, origin, seq];
    let mut reactions = tx.all(&REACTIONS, values, |row| {
        Ok(ReactionCount {
            reaction: Reaction::parse(&row.get::<String>(0)?)?,
            count: row.get(1)?,
            is_mine: row.get(2)?,
        })
    })?;
    reactions.sort_unstable_by_key(|reaction| reaction.reaction);
    Ok(reactions)
}
