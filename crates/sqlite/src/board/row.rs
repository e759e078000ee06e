//! Rows of the board as what they are.

use lodge_domain::{
    accounts::PictureId,
    board::{
        Body, Event, EventId, Message, Origin, PersonId, Profile, Quote, Reaction, ReactionCount,
        Slug, Stamp, Visibility, What,
    },
};
use rusqlite::{Connection, Result, Row, types::Type};

use crate::column::role;

/// The kinds of events.
pub(super) const MESSAGE: i64 = 1;
pub(super) const EDIT: i64 = 2;
pub(super) const DELETE: i64 = 3;
pub(super) const REACTION: i64 = 4;
pub(super) const HIDE: i64 = 5;

/// The kind under which something is stored.
pub(super) fn kind(what: &What) -> i64 {
    match what {
        What::Message { .. } => MESSAGE,
        What::Edit { .. } => EDIT,
        What::Delete { .. } => DELETE,
        What::Reaction { .. } => REACTION,
        What::Hide { .. } => HIDE,
    }
}

/// How a message's visibility is stored.
pub(super) fn visibility_number(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Shown => 0,
        Visibility::Hidden => 1,
        Visibility::Deleted => 2,
    }
}

pub(super) fn visibility(column: usize, number: i64) -> Result<Visibility> {
    Ok(match number {
        0 => Visibility::Shown,
        1 => Visibility::Hidden,
        2 => Visibility::Deleted,
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(column, number)),
    })
}

/// The columns that [`profile`] takes, in its order, of the table `board_people` as `p`.
pub(super) const PROFILE: &str = "p.person, p.username, p.nickname, p.picture, p.role";

/// Reads [`PROFILE`], the first of which is at `first`.
pub(super) fn profile(row: &Row<'_>, first: usize) -> Result<Profile> {
    Ok(Profile {
        person: PersonId::numbered(row.get(first)?),
        username: row.get(first + 1)?,
        nickname: row.get(first + 2)?,
        picture: row.get::<_, Option<[u8; 32]>>(first + 3)?.map(PictureId::stored),
        role: role(first + 4, row.get(first + 4)?)?,
    })
}

/// Two columns that name an event.
pub(super) fn event_id(row: &Row<'_>, first: usize) -> Result<EventId> {
    let number: u32 = row.get(first)?;
    let origin = Origin::new(number)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(first, number.into()))?;
    Ok(EventId { origin, seq: row.get(first + 1)? })
}

/// The same where there may be none.
pub(super) fn event_id_if_any(row: &Row<'_>, first: usize) -> Result<Option<EventId>> {
    let is_there = row.get::<_, Option<i64>>(first)?.is_some();
    is_there.then(|| event_id(row, first)).transpose()
}

fn body(row: &Row<'_>, column: usize) -> Result<Option<Body>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Body::stored))
}

fn parsed<T>(column: usize, parsed: lodge_domain::Result<T>) -> Result<T> {
    parsed.map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

/// The columns that [`event`] takes, in its order: of `board_events` as `e`, of the message that it is or that it is
/// about as `m`, and of its author as `p`.
pub(super) const EVENT: &str = "e.origin, e.seq, e.at, e.kind, e.target_origin, e.target_seq, e.body, e.sign, e.flag, \
    m.body, m.visibility, m.reply_origin, m.reply_seq, m.picture, p.person, p.username, p.nickname, p.picture, p.role";

/// Where these columns are found.
pub(super) const EVENT_TABLES: &str = "board_events e JOIN board_people p ON p.person = e.author \
    JOIN board_messages m ON m.channel = e.channel AND m.origin = coalesce(e.target_origin, e.origin) \
    AND m.seq = coalesce(e.target_seq, e.seq)";

/// Reads [`EVENT`], without what must not be read any more.
pub(super) fn event(row: &Row<'_>) -> Result<Event> {
    let now = visibility(10, row.get(10)?)?;
    let is_shown = now == Visibility::Shown;
    let kind: i64 = row.get(3)?;
    let target = event_id_if_any(row, 4)?;
    let target = || target.ok_or(rusqlite::Error::InvalidQuery);
    let what = match kind {
        MESSAGE => {
            // What it said at first: an edit follows if it says something else now.
            let first = if is_shown { body(row, 6)? } else { None };
            let body = if is_shown && first.is_none() { body(row, 9)? } else { first };
            let picture = row.get::<_, Option<[u8; 32]>>(13)?.map(PictureId::stored);
            What::Message {
                body,
                reply_to: event_id_if_any(row, 11)?,
                picture: picture.filter(|_| is_shown),
                visibility: now,
            }
        }
        EDIT => {
            let body = if is_shown { body(row, 6)? } else { None };
            What::Edit { target: target()?, body }
        }
        DELETE => What::Delete { target: target()? },
        REACTION => {
            let reaction = parsed(7, Reaction::parse(&row.get::<_, String>(7)?))?;
            What::Reaction { target: target()?, reaction, is_removed: row.get(8)? }
        }
        HIDE => What::Hide { target: target()?, is_hidden: row.get(8)? },
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(3, kind)),
    };
    Ok(Event { id: event_id(row, 0)?, at: Stamp::stored(row.get(2)?), by: profile(row, 14)?, what })
}

/// The columns that [`message`] takes, in its order: of `board_messages` as `m`, its author as `p`, its channel as `c`,
/// and of the message that it answers as `r`, with its author as `q`.
pub(super) const MESSAGE_COLUMNS: &str = "m.origin, m.seq, c.slug, m.at, m.body, m.visibility, m.edited_at, m.picture, \
    r.origin, r.seq, r.body, r.visibility, q.nickname, p.person, p.username, p.nickname, p.picture, p.role, m.channel, m.row";

/// Where these columns are found.
pub(super) const MESSAGE_TABLES: &str = "board_messages m JOIN board_people p ON p.person = m.author \
    JOIN board_channels c ON c.row = m.channel \
    LEFT JOIN board_messages r ON r.channel = m.channel AND r.origin = m.reply_origin AND r.seq = m.reply_seq \
    LEFT JOIN board_people q ON q.person = r.author";

const SIGNS: &str = "SELECT sign, count(*), sum(person = ?4) FROM board_reactions \
    WHERE channel = ?1 AND origin = ?2 AND seq = ?3 GROUP BY sign";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 1] = [SIGNS];

/// Whose signs are their own, and whether they see what is hidden.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) person: PersonId,
    pub(super) sees_hidden: bool,
}

/// Reads [`MESSAGE_COLUMNS`].
pub(super) fn message(connection: &Connection, row: &Row<'_>, reader: Reader) -> Result<Message> {
    let id = event_id(row, 0)?;
    let visibility_now = visibility(5, row.get(5)?)?;
    let is_readable = match visibility_now {
        Visibility::Shown => true,
        Visibility::Hidden => reader.sees_hidden,
        Visibility::Deleted => false,
    };
    let channel: i64 = row.get(18)?;
    let reactions =
        if is_readable { signs(connection, channel, id, reader.person)? } else { Vec::new() };
    let picture = row.get::<_, Option<[u8; 32]>>(7)?.map(PictureId::stored);
    Ok(Message {
        id,
        channel: parsed(2, Slug::parse(&row.get::<_, String>(2)?))?,
        at: Stamp::stored(row.get(3)?),
        by: profile(row, 13)?,
        body: body(row, 4)?.filter(|_| is_readable),
        visibility: visibility_now,
        edited_at: row.get::<_, Option<i64>>(6)?.map(Stamp::stored),
        reply_to: if is_readable { quote(row)? } else { None },
        picture: picture.filter(|_| is_readable),
        reactions,
    })
}

fn quote(row: &Row<'_>) -> Result<Option<Quote>> {
    let Some(id) = event_id_if_any(row, 8)? else { return Ok(None) };
    let is_shown = visibility(11, row.get(11)?)? == Visibility::Shown;
    let body = body(row, 10)?.filter(|_| is_shown);
    Ok(Some(Quote { id, nickname: row.get::<_, Option<String>>(12)?.unwrap_or_default(), body }))
}

fn signs(
    connection: &Connection,
    channel: i64,
    id: EventId,
    reader: PersonId,
) -> Result<Vec<ReactionCount>> {
    let mut statement = connection.prepare_cached(SIGNS)?;
    let seq = id.seq.cast_signed();
    let rows = statement.query_map((channel, id.origin.number(), seq, reader.number()), |row| {
        Ok(ReactionCount {
            reaction: parsed(0, Reaction::parse(&row.get::<_, String>(0)?))?,
            count: row.get(1)?,
            is_mine: row.get::<_, i64>(2)? > 0,
        })
    })?;
    let mut signs: Vec<_> = rows.collect::<Result<_>>()?;
    signs.sort_unstable_by_key(|sign| sign.reaction);
    Ok(signs)
}
