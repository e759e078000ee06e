//! Doing something with a message: editing, deleting, hiding it, and signs under it.

use jiff::Timestamp;
use lodge_domain::{
    accounts::PictureId,
    board::{
        Actor, Amended, Body, Channel, Event, EventId, Origin, Reaction, Slug, Stamp, Target,
        Visibility, What, Wish, judge,
    },
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    channels,
    origins::{self, ChannelRow, no_channel},
    people,
    post::{Stored, add_event, add_mentions, no_message},
    row::{self, visibility, visibility_number},
    search,
};
use crate::{column::number, failure::Failure};

const TARGET: &str = "SELECT row, author, body, visibility, edited_at IS NOT NULL, picture FROM board_messages \
    WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const HAS_SIGN: &str = "SELECT 1 FROM board_reactions WHERE channel = ?1 AND origin = ?2 AND seq = ?3 AND sign = ?4 AND person = ?5";
const EDITS: &str = "SELECT count(*) FROM board_events \
    WHERE channel = ?1 AND target_origin = ?2 AND target_seq = ?3 AND kind = 2";
const KEEP_FIRST: &str =
    "UPDATE board_events SET body = ?4 WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const EDIT: &str = "UPDATE board_messages SET body = ?2, edited_at = ?3 WHERE row = ?1";
const SHOW: &str = "UPDATE board_messages SET visibility = ?2 WHERE row = ?1";
const DELETE: &str =
    "UPDATE board_messages SET visibility = ?2, body = NULL, picture = NULL WHERE row = ?1";
const FORGET_FIRST: &str =
    "UPDATE board_events SET body = NULL WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const FORGET_EDITS: &str = "UPDATE board_events SET body = NULL \
    WHERE channel = ?1 AND target_origin = ?2 AND target_seq = ?3 AND kind = 2";
const FORGET_SIGNS: &str =
    "DELETE FROM board_reactions WHERE channel = ?1 AND origin = ?2 AND seq = ?3";
const ADD_SIGN: &str =
    "INSERT INTO board_reactions (channel, origin, seq, sign, person) VALUES (?1, ?2, ?3, ?4, ?5)";
const TAKE_SIGN: &str = "DELETE FROM board_reactions WHERE channel = ?1 AND origin = ?2 AND seq = ?3 AND sign = ?4 AND person = ?5";
const FORGET_MENTIONS: &str =
    "DELETE FROM board_mentions WHERE username = ?1 AND channel = ?2 AND origin = ?3 AND seq = ?4";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 13] = [
    TARGET,
    HAS_SIGN,
    EDITS,
    KEEP_FIRST,
    EDIT,
    SHOW,
    DELETE,
    FORGET_FIRST,
    FORGET_EDITS,
    FORGET_SIGNS,
    ADD_SIGN,
    TAKE_SIGN,
    FORGET_MENTIONS,
];

/// A message as it is found.
struct Found {
    row: i64,
    author: i64,
    body: Option<Body>,
    visibility: Visibility,
    is_edited: bool,
    picture: Option<PictureId>,
}

/// Where it is found.
#[derive(Clone, Copy)]
struct Place {
    channel: ChannelRow,
    id: EventId,
}

impl Place {
    fn name(self) -> Result<(i64, u32, i64), Failure> {
        Ok((self.channel.0, self.id.origin.number(), number(self.id.seq)?))
    }
}

/// Does what somebody wants, if they may; nothing if it is so already.
pub(super) fn amend(
    connection: &Connection,
    origin: Origin,
    slug: &Slug,
    message: EventId,
    wish: Wish,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Amended>, Failure> {
    let (channel, Channel { is_archived, .. }) =
        channels::find(connection, slug)?.ok_or_else(no_channel)?;
    let place = Place { channel, id: message };
    let found = find(connection, place)?;
    let has_sign = match &wish {
        Wish::React { reaction, .. } => has_sign(connection, place, *reaction, by)?,
        Wish::Edit(_) | Wish::Delete | Wish::Hide(_) => false,
    };
    let edits = match &wish {
        Wish::Edit(_) => edits(connection, place)?,
        Wish::Delete | Wish::React { .. } | Wish::Hide(_) => 0,
    };
    let target = Target {
        is_own: found.author == by.id().number(),
        body: found.body.clone(),
        visibility: found.visibility,
        has_sign,
        edits,
        is_archived,
    };
    let is_banned = people::is_banned(connection, by.id())?;
    let Some(what) = judge(&target, by, is_banned, message, wish)? else { return Ok(None) };
    let (id, at) = origins::next(connection, channel, origin, now)?;
    people::note(connection, &by.profile)?;
    apply(connection, place, &found, &what, by, at)?;
    add_event(connection, channel, id, at, by.id().number(), &stored(&what))?;
    let former = found.picture.filter(|_| matches!(what, What::Delete { .. }));
    Ok(Some(Amended { event: Event { id, at, by: by.profile.clone(), what }, former }))
}

fn find(connection: &Connection, place: Place) -> Result<Found, Failure> {
    let mut statement = connection.prepare_cached(TARGET)?;
    let found = statement.query_row(place.name()?, |row| {
        Ok(Found {
            row: row.get(0)?,
            author: row.get(1)?,
            body: row.get::<_, Option<String>>(2)?.map(Body::stored),
            visibility: visibility(3, row.get(3)?)?,
            is_edited: row.get(4)?,
            picture: row.get::<_, Option<[u8; 32]>>(5)?.map(PictureId::stored),
        })
    });
    found.optional()?.ok_or_else(|| no_message().into())
}

fn has_sign(
    connection: &Connection,
    place: Place,
    reaction: Reaction,
    by: &Actor,
) -> Result<bool, Failure> {
    let (channel, origin, seq) = place.name()?;
    let sign = (channel, origin, seq, reaction.sign(), by.id().number());
    Ok(connection.prepare_cached(HAS_SIGN)?.exists(sign)?)
}

/// How often it was edited.
fn edits(connection: &Connection, place: Place) -> Result<u32, Failure> {
    let mut edits = connection.prepare_cached(EDITS)?;
    Ok(edits.query_row(place.name()?, |row| row.get(0))?)
}

/// What has become of the message.
fn apply(
    connection: &Connection,
    place: Place,
    found: &Found,
    what: &What,
    by: &Actor,
    at: Stamp,
) -> Result<(), Failure> {
    match what {
        What::Message { .. } => Ok(()),
        What::Edit { body, .. } => {
            let Some(body) = body else { return Ok(()) };
            edit(connection, place, found, body, at)
        }
        What::Delete { .. } => delete(connection, place, found),
        What::Reaction { reaction, is_removed, .. } => {
            let (channel, origin, seq) = place.name()?;
            let sql = if *is_removed { TAKE_SIGN } else { ADD_SIGN };
            let sign = (channel, origin, seq, reaction.sign(), by.id().number());
            connection.prepare_cached(sql)?.execute(sign)?;
            Ok(())
        }
        What::Hide { is_hidden, .. } => hide(connection, place, found, *is_hidden),
    }
}

fn edit(
    connection: &Connection,
    place: Place,
    found: &Found,
    body: &Body,
    at: Stamp,
) -> Result<(), Failure> {
    let (channel, origin, seq) = place.name()?;
    if !found.is_edited {
        let first = found.body.as_ref().map(Body::as_str);
        connection.prepare_cached(KEEP_FIRST)?.execute((channel, origin, seq, first))?;
    }
    connection.prepare_cached(EDIT)?.execute((found.row, body.as_str(), at.microseconds()))?;
    forget_words(connection, place, found)?;
    search::index(connection, found.row, place.channel, body)?;
    add_mentions(connection, place.channel, place.id, body)
}

/// Its text is gone from everywhere.
fn delete(connection: &Connection, place: Place, found: &Found) -> Result<(), Failure> {
    forget_words(connection, place, found)?;
    let deleted = visibility_number(Visibility::Deleted);
    connection.prepare_cached(DELETE)?.execute((found.row, deleted))?;
    for sql in [FORGET_FIRST, FORGET_EDITS, FORGET_SIGNS] {
        connection.prepare_cached(sql)?.execute(place.name()?)?;
    }
    Ok(())
}

fn hide(
    connection: &Connection,
    place: Place,
    found: &Found,
    is_hidden: bool,
) -> Result<(), Failure> {
    let now = if is_hidden { Visibility::Hidden } else { Visibility::Shown };
    connection.prepare_cached(SHOW)?.execute((found.row, visibility_number(now)))?;
    let Some(body) = &found.body else { return Ok(()) };
    if is_hidden {
        return forget_words(connection, place, found);
    }
    search::index(connection, found.row, place.channel, body)?;
    add_mentions(connection, place.channel, place.id, body)
}

/// Lets a message be found no more, and name nobody; one that is not shown is forgotten already.
fn forget_words(connection: &Connection, place: Place, found: &Found) -> Result<(), Failure> {
    let Some(body) = found.body.as_ref().filter(|_| found.visibility == Visibility::Shown) else {
        return Ok(());
    };
    search::forget(connection, found.row, place.channel, body)?;
    let (channel, origin, seq) = place.name()?;
    for username in lodge_domain::board::mentioned(body) {
        let mention = (username.as_str(), channel, origin, seq);
        connection.prepare_cached(FORGET_MENTIONS)?.execute(mention)?;
    }
    Ok(())
}

fn stored(what: &What) -> Stored<'_> {
    let (body, sign, flag) = match what {
        What::Message { .. } | What::Delete { .. } => (None, None, None),
        What::Edit { body, .. } => (body.as_ref().map(Body::as_str), None, None),
        What::Reaction { reaction, is_removed, .. } => {
            (None, Some(reaction.sign()), Some(*is_removed))
        }
        What::Hide { is_hidden, .. } => (None, None, Some(*is_hidden)),
    };
    Stored { kind: row::kind(what), target: what.target(), body, sign, flag }
}
