//! The session store.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    accounts::{
        AccountEventKind, AccountId, FeedPage, FeedPosition, NewSession, Session, SessionDigest,
        SessionId, SessionStore, SignedIn,
    },
};
use uuid::Uuid;

use super::{
    events, feed, metered,
    row::{self, columns as account_columns},
};
use crate::{
    App, Database, Failure, ReadKind, Row, Tx,
    statement::{same, statements},
    tx::values,
};

/// Sessions of one account; beyond this the oldest ends.
const SESSIONS_MAX: i64 = 100;

/// The condition under which session `x` of account `a` is valid; the current time follows as a parameter.
macro_rules! is_live {
    () => {
        "a.epoch = x.epoch AND a.banned_at IS NULL AND a.deleted_at IS NULL AND x.expires_at > "
    };
}

macro_rules! columns {
    () => {
        "x.id, x.account, x.created_at, x.expires_at, x.agent, x.authenticated_at"
    };
}

const COUNT: usize = 6;

statements! {
    BEGIN = same("INSERT INTO sessions \
        (digest, id, account, epoch, created_at, expires_at, agent, authenticated_at) \
        SELECT ?, ?, id, epoch, ?, ?, ?, ? FROM accounts \
        WHERE id = ? AND epoch = ? AND banned_at IS NULL AND deleted_at IS NULL");
    /// The newest session beyond the limit.
    TOO_MANY = same("SELECT id FROM sessions WHERE account = ? ORDER BY id DESC LIMIT 1 OFFSET ?");
    END_OLDEST = same("DELETE FROM sessions WHERE account = ? AND id <= ?");
    END = same("DELETE FROM sessions WHERE account = ? AND id = ?");
    REPLACE_TOKEN = same("UPDATE sessions SET digest = ? WHERE digest = ? AND account = ?");
    EXTEND = same("UPDATE sessions SET expires_at = ? WHERE digest = ? AND expires_at < ?");
    FIND = same(concat!("SELECT ", columns!(), ", ", account_columns!(), " FROM sessions x \
        JOIN accounts a ON a.id = x.account WHERE x.digest = ? AND ", is_live!(), "?"));
    LIVE = same(concat!("SELECT 1 FROM sessions x JOIN accounts a ON a.id = x.account \
        WHERE x.account = ? AND x.id = ? AND ", is_live!(), "?"));
    LIST = same(concat!("SELECT ", columns!(), " FROM sessions x JOIN accounts a ON a.id = x.account \
        WHERE x.account = ? AND x.expires_at > ? AND a.epoch = x.epoch ORDER BY x.id DESC LIMIT ?"));
    ACCOUNTS = same("SELECT DISTINCT account FROM sessions WHERE account > ? AND expires_at > ? \
        ORDER BY account LIMIT ?");
}

/// The [`SessionStore`] of a database.
pub struct SqlSessions {
    database: Arc<dyn Database>,
    feed: Uuid,
}

impl SqlSessions {
    /// Returns the store. `feed` identifies the change feed; it must be a new id whenever the database may have been
    /// replaced by an older copy.
    pub fn new(database: Arc<dyn Database>, feed: Uuid) -> Self {
        Self { database, feed }
    }
}

#[async_trait]
impl SessionStore for SqlSessions {
    async fn begin(&self, new: NewSession) -> Result<bool> {
        metered::update_token(&*self.database, move |tx| begin(tx, &new)).await
    }

    async fn find(&self, digest: SessionDigest, now: Timestamp) -> Result<Option<SignedIn>> {
        let find = move |tx: &mut dyn Tx| tx.one(&FIND, values![&digest.0, now], read_signed_in);
        metered::read(&*self.database, find).await
    }

    async fn extend(&self, digest: SessionDigest, expires_at: Timestamp) -> Result<()> {
        let extend = move |tx: &mut dyn Tx| {
            tx.execute(&EXTEND, values![expires_at, &digest.0, expires_at]).map(drop)
        };
        metered::update_token(&*self.database, extend).await
    }

    async fn replace_token(
        &self,
        account: AccountId,
        from: SessionDigest,
        to: SessionDigest,
        at: Timestamp,
    ) -> Result<bool> {
        let replace = move |tx: &mut dyn Tx| {
            if tx.execute(&REPLACE_TOKEN, values![&to.0, &from.0, account.0])? == 0 {
                return Ok(false);
            }
            events::record_by_owner(tx, account, AccountEventKind::TokenRenewed, at)?;
            Ok(true)
        };
        metered::write(&*self.database, replace).await
    }

    async fn list(&self, account: AccountId, now: Timestamp, limit: usize) -> Result<Vec<Session>> {
        let list =
            move |tx: &mut dyn Tx| tx.all(&LIST, values![account.0, now, limit], read_session);
        metered::read(&*self.database, list).await
    }

    async fn accounts(
        &self,
        after: AccountId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<AccountId>> {
        let read = |row: Row<'_>| row.get(0).map(AccountId);
        let accounts = move |tx: &mut dyn Tx| tx.all(&ACCOUNTS, values![after.0, now, limit], read);
        metered::read(&*self.database, accounts).await
    }

    async fn changed_since(&self, place: Option<FeedPosition>) -> Result<FeedPage> {
        let feed = self.feed;
        let changed = move |tx: &mut dyn Tx| feed::changed_since(tx, feed, place);
        // Not measured: this is polled continuously, not called by requests.
        self.database.read(App::Accounts, ReadKind::ByKey, changed).await
    }

    async fn end(&self, account: AccountId, session: SessionId, at: Timestamp) -> Result<bool> {
        metered::write(&*self.database, move |tx| end(tx, account, session, at)).await
    }
}

fn begin(tx: &mut dyn Tx, new: &NewSession) -> Result<bool, Failure> {
    let NewSession { session, digest, epoch, kind } = new;
    let Session { id, account, created_at, expires_at, agent, authenticated_at } = session;
    let id = id.0.as_bytes();
    let values = values![
        &digest.0,
        id,
        *created_at,
        *expires_at,
        agent,
        *authenticated_at,
        account.0,
        *epoch
    ];
    if tx.execute(&BEGIN, values)? == 0 {
        return Ok(false);
    }
    events::record_by_owner(tx, *account, *kind, *created_at)?;
    let read = |row: Row<'_>| row.get::<[u8; 16]>(0);
    if let Some(oldest) = tx.one(&TOO_MANY, values![account.0, SESSIONS_MAX], read)? {
        tx.execute(&END_OLDEST, values![account.0, &oldest])?;
        // A process may have it cached.
        events::record_by_owner(tx, *account, AccountEventKind::SignedOut, *created_at)?;
    }
    Ok(true)
}

/// Whether the session belongs to the account and is valid at `now`.
pub(super) fn is_live(
    tx: &mut dyn Tx,
    account: AccountId,
    session: SessionId,
    now: Timestamp,
) -> Result<bool, Failure> {
    tx.exists(&LIVE, values![account.0, session.0.as_bytes(), now])
}

fn end(
    tx: &mut dyn Tx,
    account: AccountId,
    session: SessionId,
    at: Timestamp,
) -> Result<bool, Failure> {
    if tx.execute(&END, values![account.0, session.0.as_bytes()])? == 0 {
        return Ok(false);
    }
    events::record_by_owner(tx, account, AccountEventKind::SignedOut, at)?;
    Ok(true)
}

fn read_session(row: Row<'_>) -> Result<Session, Failure> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        account: AccountId(row.get(1)?),
        created_at: row.get(2)?,
        expires_at: row.get(3)?,
        agent: row.get(4)?,
        authenticated_at: row.get(5)?,
    })
}

fn read_signed_in(row: Row<'_>) -> Result<SignedIn, Failure> {
    Ok(SignedIn { session: read_session(row)?, account: row::read(row, COUNT)? })
}
