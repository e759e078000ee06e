//! Profiles and bans of the board's members.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{AccountId, PictureId, Username},
    board::{BoardMembers, KnownMember, PersonId, Profile},
};

use super::{
    ChannelRow, SqlBoard,
    row::{profile, profile_columns},
};
use crate::{
    Failure, Row, Tx,
    accounts::role_number,
    statement::{pair, same, statements},
    tx::values,
};

macro_rules! select {
    ($which:literal) => {
        same(concat!("SELECT ", profile_columns!(), ", p.banned_at FROM board_people p ", $which))
    };
}

statements! {
    ONE = select!("WHERE p.person = ?");
    NAMED = select!("WHERE p.username = ? AND p.person > 0");
    WITH_PREFIX = same(concat!("SELECT ", profile_columns!(), " FROM board_people p \
        WHERE p.username >= ? AND p.username < ? AND p.banned_at IS NULL ORDER BY p.username LIMIT ?"));
    BANNED = select!("WHERE p.banned_at IS NOT NULL ORDER BY p.banned_at");
    ADD = same("INSERT INTO board_people (username, nickname, picture, role, person) VALUES (?, ?, ?, ?, ?)");
    CHANGE = same("UPDATE board_people SET username = ?, nickname = ?, picture = ?, role = ? WHERE person = ?");
    BAN = same("UPDATE board_people SET banned_at = CASE WHEN ? IS NULL THEN NULL ELSE coalesce(banned_at, ?) END \
        WHERE person = ?");
    IS_BANNED = same("SELECT 1 FROM board_people WHERE person = ? AND banned_at IS NOT NULL");
    WROTE_AT = same("SELECT wrote_at FROM board_visits WHERE person = ? AND channel = ?");
    ACCOUNTS = same("SELECT person FROM board_people WHERE person > ? AND username <> '' ORDER BY person LIMIT ?");
    FORGET_MENTIONS = pair(
        "DELETE FROM board_mentions WHERE (username, channel, origin, seq) IN ( \
            SELECT n.username, n.channel, n.origin, n.seq FROM board_mentions n \
            WHERE n.username = (SELECT username FROM board_people WHERE person = ?) LIMIT ?)",
        "DELETE FROM board_mentions \
            WHERE username = (SELECT username FROM board_people WHERE person = ?) LIMIT ?",
    );
    FORGET_VISITS = same("DELETE FROM board_visits WHERE person = ?");
    FORGET = same("UPDATE board_people SET username = '', nickname = '', picture = NULL, role = 0, banned_at = NULL \
        WHERE person = ?");
}

/// Mentions of one member that one transaction deletes, so that other writes can run in between.
pub const MENTIONS_PER_DELETE: u64 = 1_000;

#[async_trait]
impl BoardMembers for SqlBoard {
    async fn save_profile(&self, profile: Profile) -> Result<bool> {
        self.write(move |tx| note(tx, &profile)).await
    }

    async fn find(&self, person: PersonId) -> Result<Option<KnownMember>> {
        self.read(move |tx| one(tx, person)).await
    }

    async fn find_by_username(&self, username: Username) -> Result<Option<KnownMember>> {
        self.read(move |tx| tx.one(&NAMED, values![username.as_str()], known)).await
    }

    async fn with_prefix(&self, prefix: String, limit: usize) -> Result<Vec<Profile>> {
        let end = format!("{prefix}{}", char::MAX);
        let read = |row: Row<'_>| profile(row, 0);
        self.read(move |tx| tx.all(&WITH_PREFIX, values![&prefix, &end, limit], read)).await
    }

    async fn ban(&self, person: PersonId, since: Option<Timestamp>) -> Result<Option<KnownMember>> {
        let ban = move |tx: &mut dyn Tx| {
            tx.execute(&BAN, values![since, since, person.number()])?;
            one(tx, person)
        };
        self.write(ban).await
    }

    async fn banned(&self) -> Result<Vec<KnownMember>> {
        self.read(|tx| tx.all(&BANNED, values![], known)).await
    }

    async fn accounts(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        let after = after.map_or(0, |account| account.0);
        let read = |row: Row<'_>| Ok(AccountId(row.get(0)?));
        self.read(move |tx| tx.all(&ACCOUNTS, values![after, limit], read)).await
    }

    async fn forget(&self, former: AccountId) -> Result<()> {
        while self.write(move |tx| forget_mentions(tx, former)).await? == MENTIONS_PER_DELETE {}
        let forget = move |tx: &mut dyn Tx| {
            tx.execute(&FORGET_VISITS, values![former.0])?;
            tx.execute(&FORGET, values![former.0]).map(drop)
        };
        self.write(forget).await
    }
}

/// Deletes up to [`MENTIONS_PER_DELETE`] mentions of an account; returns how many.
pub fn forget_mentions(tx: &mut dyn Tx, former: AccountId) -> Result<u64, Failure> {
    tx.execute(&FORGET_MENTIONS, values![former.0, MENTIONS_PER_DELETE.cast_signed()])
}

/// Saves a member's profile; returns whether it changed.
pub fn note(tx: &mut dyn Tx, profile: &Profile) -> Result<bool, Failure> {
    let known = one(tx, profile.person)?;
    if known.as_ref().is_some_and(|known| known.profile == *profile) {
        return Ok(false);
    }
    let Profile { person, username, nickname, picture, role } = profile;
    let picture = picture.as_ref().map(PictureId::bytes);
    let values = values![username, nickname, picture, role_number(*role), person.number()];
    if known.is_some() || tx.insert(&ADD, values)?.is_none() {
        tx.execute(&CHANGE, values)?;
    }
    Ok(true)
}

/// Whether a member is banned from the board.
pub(super) fn is_banned(tx: &mut dyn Tx, person: PersonId) -> Result<bool, Failure> {
    tx.exists(&IS_BANNED, values![person.number()])
}

/// Returns the wall-clock time of a member's last message in a channel, recorded only in slow mode.
pub(super) fn wrote_at(
    tx: &mut dyn Tx,
    person: PersonId,
    channel: ChannelRow,
) -> Result<Option<Timestamp>, Failure> {
    let read = |row: Row<'_>| row.get::<Option<i64>>(0);
    let microseconds = tx.one(&WROTE_AT, values![person.number(), channel.0], read)?.flatten();
    let at = microseconds.map(Timestamp::from_microsecond).transpose();
    Ok(at.map_err(Error::internal)?)
}

fn one(tx: &mut dyn Tx, person: PersonId) -> Result<Option<KnownMember>, Failure> {
    tx.one(&ONE, values![person.number()], known)
}

fn known(row: Row<'_>) -> Result<KnownMember, Failure> {
    Ok(KnownMember { profile: profile(row, 0)?, banned_at: row.get(5)? })
}
