//! The sessions' store.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    accounts::{
        AccountId, Changed, EventKind, FeedPlace, NewSession, Session, SessionDigest, SessionId,
        SessionStore, SignedIn,
    },
};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use super::{
    events, metered,
    row::{self, instant},
};
use crate::{engine::Engine, failure::Failure};

/// Sessions that an account has at most; past that the oldest ends.
const SESSIONS_MAX: i64 = 100;

/// What holds of a session `s` of the account `a` that opens something; the time of now comes after it.
const IS_LIVE: &str =
    "a.epoch = s.epoch AND a.banned_at IS NULL AND a.deleted_at IS NULL AND s.expires_at > ";

const COLUMNS: &str = "s.id, s.account, s.created_at, s.expires_at, s.agent";
const COUNT: usize = 5;

const BEGIN: &str = "INSERT INTO sessions (digest, id, account, epoch, created_at, expires_at, agent) \
    SELECT ?1, ?2, id, epoch, ?5, ?6, ?7 FROM accounts \
    WHERE id = ?3 AND epoch = ?4 AND banned_at IS NULL AND deleted_at IS NULL";
const END_OLDEST: &str = "DELETE FROM sessions WHERE account = ?1 AND id IN \
    (SELECT id FROM sessions WHERE account = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)";
const END: &str = "DELETE FROM sessions WHERE account = ?1 AND id = ?2";
static FIND: LazyLock<String> = LazyLock::new(|| {
    let account = row::COLUMNS;
    format!(
        "SELECT {COLUMNS}, {account} FROM sessions s JOIN accounts a ON a.id = s.account \
         WHERE s.digest = ?1 AND {IS_LIVE} ?2"
    )
});
static LIVE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT 1 FROM sessions s JOIN accounts a ON a.id = s.account \
         WHERE s.account = ?1 AND s.id = ?2 AND {IS_LIVE} ?3"
    )
});
static LIST: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM sessions s JOIN accounts a ON a.id = s.account \
         WHERE s.account = ?1 AND s.expires_at > ?2 AND a.epoch = s.epoch ORDER BY s.id DESC LIMIT ?3"
    )
});

/// Every statement of the sessions.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    [BEGIN, END_OLDEST, END]
        .map(str::to_owned)
        .into_iter()
        .chain([FIND.clone(), LIVE.clone(), LIST.clone()])
        .collect()
}

/// Sessions in the database.
pub(crate) struct SqliteSessions(pub(crate) Arc<Engine>);

#[async_trait]
impl SessionStore for SqliteSessions {
    async fn begin(&self, new: NewSession) -> Result<bool> {
        metered::update_token(&self.0, move |connection| begin(connection, &new)).await
    }

    async fn find(&self, digest: SessionDigest, now: Timestamp) -> Result<Option<SignedIn>> {
        metered::read(&self.0, move |connection| find(connection, digest, now)).await
    }

    async fn list(&self, account: AccountId, now: Timestamp, limit: usize) -> Result<Vec<Session>> {
        metered::read(&self.0, move |connection| list(connection, account, now, limit)).await
    }

    async fn changed_since(&self, place: Option<FeedPlace>) -> Result<Changed> {
        let feed = self.0.feed;
        // Not measured: it is asked for all the time, and by nobody who waits.
        self.0.readers.read(move |connection| events::changed_since(connection, feed, place)).await
    }

    async fn end(&self, account: AccountId, session: SessionId, at: Timestamp) -> Result<bool> {
        metered::write(&self.0, move |connection| end(connection, account, session, at)).await
    }
}

fn begin(connection: &Connection, new: &NewSession) -> Result<bool, Failure> {
    let NewSession { session, digest, epoch, kind } = new;
    let began = connection.prepare_cached(BEGIN)?.execute((
        digest.0,
        session.id.0.as_bytes(),
        session.account.0,
        epoch,
        session.created_at.as_millisecond(),
        session.expires_at.as_millisecond(),
        &session.agent,
    ))?;
    if began == 0 {
        return Ok(false);
    }
    events::note_own(connection, session.account, *kind, session.created_at)?;
    if connection.prepare_cached(END_OLDEST)?.execute((session.account.0, SESSIONS_MAX))? > 0 {
        // It may be remembered somewhere.
        events::note_own(connection, session.account, EventKind::SignedOut, session.created_at)?;
    }
    Ok(true)
}

fn find(
    connection: &Connection,
    digest: SessionDigest,
    now: Timestamp,
) -> Result<Option<SignedIn>, Failure> {
    let read = |row: &Row<'_>| {
        Ok(SignedIn { session: read_session(row)?, account: row::read(row, COUNT)? })
    };
    let mut statement = connection.prepare_cached(&FIND)?;
    Ok(statement.query_row((digest.0, now.as_millisecond()), read).optional()?)
}

/// Whether an account has this session, and it opens something at `now`.
pub(super) fn is_live(
    connection: &Connection,
    account: AccountId,
    session: SessionId,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let of = (account.0, session.0.as_bytes(), now.as_millisecond());
    connection.prepare_cached(&LIVE)?.exists(of)
}

fn list(
    connection: &Connection,
    account: AccountId,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Session>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&LIST)?;
    let sessions = statement.query_map((account.0, now.as_millisecond(), limit), read_session)?;
    Ok(sessions.collect::<rusqlite::Result<_>>()?)
}

fn end(
    connection: &Connection,
    account: AccountId,
    session: SessionId,
    at: Timestamp,
) -> Result<bool, Failure> {
    if connection.prepare_cached(END)?.execute((account.0, session.0.as_bytes()))? == 0 {
        return Ok(false);
    }
    events::note_own(connection, account, EventKind::SignedOut, at)?;
    Ok(true)
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId(Uuid::from_bytes(row.get(0)?)),
        account: AccountId(row.get(1)?),
        created_at: instant(2, row.get(2)?)?,
        expires_at: instant(3, row.get(3)?)?,
        agent: row.get(4)?,
    })
}
