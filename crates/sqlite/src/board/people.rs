//! Who was here, what they are called, and what they have read.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{AccountId, Username},
    board::{BoardPeople, Cursor, Known, PersonId, Profile, ReadNote, Slug, UNREAD_MAX, Unread},
};
use lodge_sql::App;
use lodge_sql::accounts::role_number;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::{
    SqliteBoard, channels,
    origins::{self, ChannelRow},
    row::profile,
};
use crate::{
    column::{instant, limit, number},
    failure::Failure,
};

const ONE: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.role, p.banned_at FROM board_people p WHERE p.person = ?1";
const NAMED: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.role, p.banned_at FROM board_people p WHERE p.username = ?1 AND p.person > 0";
const BANNED: &str = "SELECT p.person, p.username, p.nickname, p.picture, p.role, p.banned_at FROM board_people p WHERE p.banned_at IS NOT NULL ORDER BY p.banned_at";
const NOTE: &str = "INSERT INTO board_people (person, username, nickname, picture, role) VALUES (?1, ?2, ?3, ?4, ?5) \
    ON CONFLICT DO UPDATE SET username = excluded.username, nickname = excluded.nickname, picture = excluded.picture, role = excluded.role \
    WHERE (username, nickname, picture, role) IS NOT (excluded.username, excluded.nickname, excluded.picture, excluded.role)";
const BAN: &str = "UPDATE board_people SET banned_at = CASE WHEN ?2 IS NULL THEN NULL ELSE coalesce(banned_at, ?2) END WHERE person = ?1";
const IS_BANNED: &str = "SELECT banned_at IS NOT NULL FROM board_people WHERE person = ?1";
const WROTE_AT: &str = "SELECT wrote_at FROM board_visits WHERE person = ?1 AND channel = ?2";
const READ: &str = "SELECT cursor FROM board_visits WHERE person = ?1 AND channel = ?2";
const IS_FORGOTTEN: &str = "SELECT 1 FROM board_people WHERE person = ?1 AND username = ''";
const NOTE_READ: &str = "INSERT INTO board_visits (person, channel, cursor) VALUES (?1, ?2, ?3) \
    ON CONFLICT DO UPDATE SET cursor = excluded.cursor";
const CHANNELS: &str =
    "SELECT row, slug FROM board_channels WHERE NOT is_archived ORDER BY slug <> 'lobby', slug";
const UNREAD: &str = "SELECT count(*) FROM (SELECT 1 FROM (SELECT author, visibility FROM board_messages \
    WHERE channel = ?1 AND origin = ?2 AND seq > ?3 ORDER BY seq DESC LIMIT ?6) \
    WHERE author <> ?4 AND visibility = 0 LIMIT ?5)";
const UNREAD_MENTIONS: &str = "SELECT count(*) FROM (SELECT 1 FROM board_mentions \
    WHERE username = ?1 AND channel = ?2 AND origin = ?3 AND seq > ?4 LIMIT ?5)";
const ACCOUNTS: &str =
    "SELECT person FROM board_people WHERE person > ?1 AND username <> '' ORDER BY person LIMIT ?2";
const FORGET_MENTIONS: &str = "DELETE FROM board_mentions WHERE (username, channel, origin, seq) IN ( \
    SELECT n.username, n.channel, n.origin, n.seq FROM board_mentions n \
    WHERE n.username = (SELECT username FROM board_people WHERE person = ?1) LIMIT ?2)";
const FORGET: [&str; 2] = [
    "DELETE FROM board_visits WHERE person = ?1",
    "UPDATE board_people SET username = '', nickname = '', picture = NULL, role = 0, banned_at = NULL WHERE person = ?1",
];

/// Messages that are looked at, the newest, to count those that are unread: of what somebody wrote themselves, or of
/// what is hidden, there may be any number.
const UNREAD_LOOKED_AT: u32 = 1_000;

/// Times that somebody was named which are forgotten at once; other writes come in between.
const FORGOTTEN_AT_ONCE: usize = 1_000;

/// Those that must find their way by an index; of channels there are a few hundred.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 16] = [
    ONE,
    NAMED,
    BANNED,
    NOTE,
    BAN,
    IS_BANNED,
    WROTE_AT,
    READ,
    IS_FORGOTTEN,
    NOTE_READ,
    UNREAD,
    UNREAD_MENTIONS,
    ACCOUNTS,
    FORGET_MENTIONS,
    FORGET[0],
    FORGET[1],
];

#[async_trait]
impl BoardPeople for SqliteBoard {
    async fn note(&self, profile: Profile) -> Result<bool> {
        self.write(move |connection| note(connection, &profile)).await
    }

    async fn find(&self, person: PersonId) -> Result<Option<Known>> {
        self.engine
            .board
            .read(App::Board, move |connection| one(connection, ONE, person.number()))
            .await
    }

    async fn named(&self, username: Username) -> Result<Option<Known>> {
        let found = move |connection: &_| one(connection, NAMED, username.as_str());
        self.engine.board.read(App::Board, found).await
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
        self.engine.board.read(App::Board, banned).await
    }

    async fn read_so_far(
        &self,
        person: PersonId,
        channel: Slug,
        more: Vec<Cursor>,
    ) -> Result<Option<Cursor>> {
        let had = move |connection: &Connection| {
            let channel = origins::channel(connection, &channel)?;
            let closed = origins::closed(&origins::standings(connection, channel)?);
            let had = read(connection, person, channel)?.into_iter().chain(more);
            Ok(had.map(|had| had.unfolded(&closed)).reduce(|had, more| had.joined(&more)))
        };
        self.read(had).await
    }

    async fn note_read(&self, notes: Vec<ReadNote>) -> Result<()> {
        let note = move |connection: &Connection| {
            notes.into_iter().try_for_each(|note| note_read(connection, note))
        };
        self.write(note).await
    }

    async fn unread(&self, reader: Profile, read: Vec<(Slug, Cursor)>) -> Result<Vec<Unread>> {
        self.read(move |connection| unread(connection, &reader, &read)).await
    }

    async fn accounts(&self, after: Option<AccountId>, at_most: usize) -> Result<Vec<AccountId>> {
        let after = after.map_or(0, |account| account.0);
        let found = move |connection: &Connection| {
            let mut found = connection.prepare_cached(ACCOUNTS)?;
            let found =
                found.query_map((after, limit(at_most)), |row| row.get(0).map(AccountId))?;
            Ok(found.collect::<Result<_, _>>()?)
        };
        self.engine.board.read(App::Board, found).await
    }

    async fn forget(&self, former: AccountId) -> Result<()> {
        let some = move |connection: &Connection| forget_mentions(connection, former);
        while self.write(some).await? == FORGOTTEN_AT_ONCE {}
        self.write(move |connection| {
            for sql in FORGET {
                connection.prepare_cached(sql)?.execute([former.0])?;
            }
            Ok(())
        })
        .await
    }
}

/// Forgets some of the times that somebody was named; how many.
pub(crate) fn forget_mentions(
    connection: &Connection,
    former: AccountId,
) -> Result<usize, Failure> {
    let mut some = connection.prepare_cached(FORGET_MENTIONS)?;
    Ok(some.execute((former.0, limit(FORGOTTEN_AT_ONCE)))?)
}

/// Notes what somebody is called; says whether that is new.
pub(crate) fn note(connection: &Connection, profile: &Profile) -> Result<bool, Failure> {
    let picture = profile.picture.as_ref().map(|picture| *picture.bytes());
    let role = role_number(profile.role);
    let row = (profile.person.number(), &profile.username, &profile.nickname, picture, role);
    Ok(connection.prepare_cached(NOTE)?.execute(row)? > 0)
}

/// Whether somebody is banned from the board.
pub(super) fn is_banned(connection: &Connection, person: PersonId) -> Result<bool, Failure> {
    let mut statement = connection.prepare_cached(IS_BANNED)?;
    let found = statement.query_row([person.number()], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// When somebody last wrote in a channel while it was slow, by the clock.
pub(super) fn wrote_at(
    connection: &Connection,
    person: PersonId,
    channel: ChannelRow,
) -> Result<Option<Timestamp>, Failure> {
    let mut statement = connection.prepare_cached(WROTE_AT)?;
    let found = statement.query_row((person.number(), channel.0), |row| row.get(0)).optional()?;
    let microseconds: Option<Option<i64>> = found;
    let at = microseconds.flatten().map(Timestamp::from_microsecond);
    Ok(at.transpose().map_err(Error::internal)?)
}

fn one(connection: &Connection, sql: &str, by: impl ToSql) -> Result<Option<Known>, Failure> {
    Ok(connection.prepare_cached(sql)?.query_row([by], known).optional()?)
}

fn known(row: &Row<'_>) -> rusqlite::Result<Known> {
    let banned_at = row.get::<_, Option<i64>>(5)?.map(|at| instant(5, at)).transpose()?;
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

fn note_read(connection: &Connection, note: ReadNote) -> Result<(), Failure> {
    let ReadNote { person, channel, cursor } = note;
    let Some((channel, _)) = channels::find(connection, &channel)? else { return Ok(()) };
    // The note may have waited while they were deleted.
    if connection.prepare_cached(IS_FORGOTTEN)?.exists([person.number()])? {
        return Ok(());
    }
    let standings = origins::standings(connection, channel)?;
    let closed = origins::closed(&standings);
    let noted = read(connection, person, channel)?;
    let mut had = noted.clone().unwrap_or_default().unfolded(&closed);
    let (now, everything) = (cursor.unfolded(&closed), origins::everything(&standings));
    // What is not there yet cannot have been read.
    for (origin, seq) in everything.seqs() {
        let seq = seq.min(now.seq(origin));
        if seq > 0 {
            had.take(lodge_domain::board::EventId { origin, seq });
        }
    }
    let had = had.folded(&closed)?;
    if noted.as_ref() == Some(&had) {
        return Ok(());
    }
    let row = (person.number(), channel.0, had.to_string());
    connection.prepare_cached(NOTE_READ)?.execute(row)?;
    Ok(())
}

fn unread(
    connection: &Connection,
    reader: &Profile,
    read: &[(Slug, Cursor)],
) -> Result<Vec<Unread>, Failure> {
    let mut channels = connection.prepare_cached(CHANNELS)?;
    let channels = channels.query_map([], |row| Ok((ChannelRow(row.get(0)?), row.get(1)?)))?;
    let mut unread = Vec::new();
    for channel in channels {
        let (row, slug): (_, String) = channel?;
        let channel = Slug::parse(&slug)?;
        let read = read.iter().filter(|(of, _)| *of == channel).map(|(_, cursor)| cursor);
        let (messages, mentions) = unread_in(connection, reader, row, read)?;
        if messages + mentions > 0 {
            unread.push(Unread { channel, messages, mentions });
        }
    }
    Ok(unread)
}

/// Unread messages, which are all of them where somebody never was, and those that name them.
fn unread_in<'a>(
    connection: &Connection,
    reader: &Profile,
    channel: ChannelRow,
    more: impl Iterator<Item = &'a Cursor>,
) -> Result<(u32, u32), Failure> {
    let standings = origins::standings(connection, channel)?;
    let closed = origins::closed(&standings);
    let read = read(connection, reader.person, channel)?;
    let had = read.unwrap_or_default().unfolded(&closed);
    let had = more.fold(had, |had, more| had.joined(&more.clone().unfolded(&closed)));
    // A bot is named as an account is; not every name that an operator gives to one can stand behind an `@`.
    let name = Username::parse(&reader.username).ok();
    let (mut messages, mut mentions) = (0, 0);
    let count = |row: &Row<'_>| row.get::<_, u32>(0);
    for standing in &standings {
        let (origin, seq) = (standing.origin.number(), number(had.seq(standing.origin))?);
        let person = reader.person.number();
        let of = (channel.0, origin, seq, person, UNREAD_MAX, UNREAD_LOOKED_AT);
        messages += connection.prepare_cached(UNREAD)?.query_row(of, count)?;
        if let Some(name) = &name {
            let of = (name.as_str(), channel.0, origin, seq, UNREAD_MAX);
            mentions += connection.prepare_cached(UNREAD_MENTIONS)?.query_row(of, count)?;
        }
    }
    Ok((messages.min(UNREAD_MAX), mentions.min(UNREAD_MAX)))
}
