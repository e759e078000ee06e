//! Who was here, what they are called, and what they have read.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{AccountId, Username},
    board::{BoardPeople, Cursor, Known, PersonId, Profile, Slug, Stamp, UNREAD_MAX, Unread},
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::{
    SqliteBoard, limit, number,
    origins::{self, ChannelRow},
    row::profile,
};
use crate::{accounts::row::instant, failure::Failure};

const ONE: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.banned_at FROM board_people p WHERE p.person = ?1";
const NAMED: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.banned_at FROM board_people p WHERE p.username = ?1 AND p.person > 0";
const BANNED: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.banned_at FROM board_people p WHERE p.banned_at IS NOT NULL ORDER BY p.banned_at";
const NOTE: &str = "INSERT INTO board_people (person, username, nickname, picture) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT DO UPDATE SET username = excluded.username, nickname = excluded.nickname, picture = excluded.picture \
    WHERE (username, nickname, picture) IS NOT (excluded.username, excluded.nickname, excluded.picture)";
const BAN: &str = "UPDATE board_people SET banned_at = CASE WHEN ?2 IS NULL THEN NULL ELSE coalesce(banned_at, ?2) END WHERE person = ?1";
const IS_BANNED: &str = "SELECT banned_at IS NOT NULL FROM board_people WHERE person = ?1";
const WROTE_AT: &str = "SELECT wrote_at FROM board_visits WHERE person = ?1 AND channel = ?2";
const READ: &str = "SELECT cursor FROM board_visits WHERE person = ?1 AND channel = ?2";
const NOTE_READ: &str = "INSERT INTO board_visits (person, channel, cursor) VALUES (?1, ?2, ?3) \
    ON CONFLICT DO UPDATE SET cursor = excluded.cursor";
const CHANNELS: &str = "SELECT row, slug FROM board_channels ORDER BY slug <> 'lobby', slug";
const UNREAD: &str = "SELECT count(*) FROM (SELECT 1 FROM board_messages \
    WHERE channel = ?1 AND origin = ?2 AND seq > ?3 AND author <> ?4 AND visibility = 0 LIMIT ?5)";
const UNREAD_MENTIONS: &str = "SELECT count(*) FROM (SELECT 1 FROM board_mentions \
    WHERE username = ?1 AND channel = ?2 AND origin = ?3 AND seq > ?4 LIMIT ?5)";
const ACCOUNTS: &str =
    "SELECT person FROM board_people WHERE person > ?1 AND username <> '' ORDER BY person LIMIT ?2";
const FORGET: [&str; 3] = [
    "DELETE FROM board_mentions WHERE username = (SELECT username FROM board_people WHERE person = ?1)",
    "DELETE FROM board_visits WHERE person = ?1",
    "UPDATE board_people SET username = '', nickname = '', picture = NULL WHERE person = ?1",
];

/// Those that must find their way by an index; of channels there are a few hundred.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 15] = [
    ONE,
    NAMED,
    BANNED,
    NOTE,
    BAN,
    IS_BANNED,
    WROTE_AT,
    READ,
    NOTE_READ,
    UNREAD,
    UNREAD_MENTIONS,
    ACCOUNTS,
    FORGET[0],
    FORGET[1],
    FORGET[2],
];

#[async_trait]
impl BoardPeople for SqliteBoard {
    async fn note(&self, profile: Profile) -> Result<bool> {
        self.write(move |connection| note(connection, &profile)).await
    }

    async fn find(&self, person: PersonId) -> Result<Option<Known>> {
        self.engine.readers.read(move |connection| one(connection, ONE, person.number())).await
    }

    async fn named(&self, username: Username) -> Result<Option<Known>> {
        let found = move |connection: &_| one(connection, NAMED, username.as_str());
        self.engine.readers.read(found).await
    }

    async fn ban(&self, person: PersonId, since: Option<Timestamp>) -> Result<Option<Known>> {
        self.write(move |connection| {
            let since = since.map(Timestamp::as_millisecond);
            connection.prepare_cached(BAN)?.execute((person.number(), since))?;
            one(connection, ONE, person.number())
        })
        .await
    }

    async fn banned(&self) -> Result<Vec<Known>> {
        let banned = |connection: &Connection| {
            let mut banned = connection.prepare_cached(BANNED)?;
            Ok(banned.query_map([], known)?.collect::<Result<_, _>>()?)
        };
        self.engine.readers.read(banned).await
    }

    async fn note_read(&self, person: PersonId, channel: Slug, cursor: Cursor) -> Result<()> {
        self.write(move |connection| note_read(connection, person, &channel, cursor)).await
    }

    async fn unread(&self, reader: Profile) -> Result<Vec<Unread>> {
        self.read(move |connection| unread(connection, &reader)).await
    }

    async fn accounts(&self, after: Option<AccountId>, at_most: usize) -> Result<Vec<AccountId>> {
        let after = after.map_or(0, |account| account.0);
        let found = move |connection: &Connection| {
            let mut found = connection.prepare_cached(ACCOUNTS)?;
            let found =
                found.query_map((after, limit(at_most)), |row| row.get(0).map(AccountId))?;
            Ok(found.collect::<Result<_, _>>()?)
        };
        self.engine.readers.read(found).await
    }

    async fn forget(&self, former: AccountId) -> Result<()> {
        self.write(move |connection| {
            for sql in FORGET {
                connection.prepare_cached(sql)?.execute([former.0])?;
            }
            Ok(())
        })
        .await
    }
}

/// Notes what somebody is called; says whether that is new.
pub(crate) fn note(connection: &Connection, profile: &Profile) -> Result<bool, Failure> {
    let picture = profile.picture.as_ref().map(|picture| *picture.bytes());
    let row = (profile.person.number(), &profile.username, &profile.nickname, picture);
    Ok(connection.prepare_cached(NOTE)?.execute(row)? > 0)
}

/// Whether somebody is banned from the board.
pub(super) fn is_banned(connection: &Connection, person: PersonId) -> Result<bool, Failure> {
    let mut statement = connection.prepare_cached(IS_BANNED)?;
    let found = statement.query_row([person.number()], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// When somebody last wrote in a channel while it was slow.
pub(super) fn wrote_at(
    connection: &Connection,
    person: PersonId,
    channel: ChannelRow,
) -> Result<Option<Stamp>, Failure> {
    let mut statement = connection.prepare_cached(WROTE_AT)?;
    let found = statement.query_row((person.number(), channel.0), |row| row.get(0)).optional()?;
    Ok(found.flatten().map(Stamp::stored))
}

fn one(connection: &Connection, sql: &str, by: impl ToSql) -> Result<Option<Known>, Failure> {
    Ok(connection.prepare_cached(sql)?.query_row([by], known).optional()?)
}

fn known(row: &Row<'_>) -> rusqlite::Result<Known> {
    let banned_at = row.get::<_, Option<i64>>(4)?.map(|at| instant(4, at)).transpose()?;
    Ok(Known { profile: profile(row, 0)?, banned_at })
}

/// What somebody has read of a channel; nothing if they were never there.
fn read(
    connection: &Connection,
    person: PersonId,
    channel: ChannelRow,
) -> Result<Option<Cursor>, Failure> {
    let mut statement = connection.prepare_cached(READ)?;
    let found = statement.query_row((person.number(), channel.0), |row| row.get(0)).optional()?;
    let cursor: Option<Option<String>> = found;
    Ok(cursor.flatten().map(|cursor| cursor.parse()).transpose().map_err(Error::internal)?)
}

fn note_read(
    connection: &Connection,
    person: PersonId,
    slug: &Slug,
    cursor: Cursor,
) -> Result<(), Failure> {
    let channel = origins::channel(connection, slug)?;
    let standings = origins::standings(connection, channel)?;
    let closed = origins::closed(&standings);
    let mut had = read(connection, person, channel)?.unwrap_or_default().unfolded(&closed);
    let (now, everything) = (cursor.unfolded(&closed), origins::everything(&standings));
    // What is not there yet cannot have been read.
    for (origin, seq) in everything.seqs() {
        let seq = seq.min(now.seq(origin));
        if seq > 0 {
            had.take(lodge_domain::board::EventId { origin, seq });
        }
    }
    let row = (person.number(), channel.0, had.folded(&closed).to_string());
    connection.prepare_cached(NOTE_READ)?.execute(row)?;
    Ok(())
}

fn unread(connection: &Connection, reader: &Profile) -> Result<Vec<Unread>, Failure> {
    let mut channels = connection.prepare_cached(CHANNELS)?;
    let channels = channels.query_map([], |row| Ok((ChannelRow(row.get(0)?), row.get(1)?)))?;
    let mut unread = Vec::new();
    for channel in channels {
        let (channel, slug): (_, String) = channel?;
        let (messages, mentions) = unread_in(connection, reader, channel)?;
        if messages + mentions > 0 {
            unread.push(Unread { channel: Slug::parse(&slug)?, messages, mentions });
        }
    }
    Ok(unread)
}

/// Unread messages, of which there are none where somebody never was, and those that name them.
fn unread_in(
    connection: &Connection,
    reader: &Profile,
    channel: ChannelRow,
) -> Result<(u32, u32), Failure> {
    let standings = origins::standings(connection, channel)?;
    let read = read(connection, reader.person, channel)?;
    let was_here = read.is_some();
    let had = read.unwrap_or_default().unfolded(&origins::closed(&standings));
    let (mut messages, mut mentions) = (0, 0);
    let count = |row: &Row<'_>| row.get::<_, u32>(0);
    for standing in &standings {
        let (origin, seq) = (standing.origin.number(), number(had.seq(standing.origin))?);
        if was_here {
            let of = (channel.0, origin, seq, reader.person.number(), UNREAD_MAX);
            messages += connection.prepare_cached(UNREAD)?.query_row(of, count)?;
        }
        if !reader.is_bot() {
            let of = (&reader.username, channel.0, origin, seq, UNREAD_MAX);
            mentions += connection.prepare_cached(UNREAD_MENTIONS)?.query_row(of, count)?;
        }
    }
    Ok((messages.min(UNREAD_MAX), mentions.min(UNREAD_MAX)))
}
