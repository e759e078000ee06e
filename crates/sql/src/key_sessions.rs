//! The store of page sessions of API keys.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    key_sessions::{KeySession, KeySessionStore},
    keys::KeyId,
};

use crate::{
    App, Database, ReadKind, Row, Tx,
    statement::{pair, same, statements},
    tx::values,
};

/// Expired sessions that are removed when one begins: more than one, so that they become fewer.
const REMOVED_AT_ONCE: i64 = 10;

statements! {
    BEGIN = same("INSERT INTO key_sessions (digest, key_id, expires_at) VALUES (?, ?, ?)");
    FIND = same("SELECT key_id FROM key_sessions WHERE digest = ? AND expires_at > ?");
    END = same("DELETE FROM key_sessions WHERE digest = ?");
    REMOVE_EXPIRED = pair(
        "DELETE FROM key_sessions WHERE digest IN \
            (SELECT digest FROM key_sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
        "DELETE FROM key_sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
    );
}

/// The [`KeySessionStore`] of a database.
pub struct SqlKeySessions(pub Arc<dyn Database>);

#[async_trait]
impl KeySessionStore for SqlKeySessions {
    async fn begin(&self, session: KeySession) -> Result<()> {
        let KeySession { digest, key, began_at, expires_at } = session;
        let begin = move |tx: &mut dyn Tx| {
            tx.execute(&REMOVE_EXPIRED, values![began_at, REMOVED_AT_ONCE])?;
            tx.execute(&BEGIN, values![&digest, key.0, expires_at]).map(drop)
        };
        self.0.write(App::Links, begin).await
    }

    async fn find(&self, digest: [u8; 32], now: Timestamp) -> Result<Option<KeyId>> {
        let read = |row: Row<'_>| Ok(KeyId(row.get(0)?));
        let find = move |tx: &mut dyn Tx| tx.one(&FIND, values![&digest, now], read);
        self.0.read(App::Links, ReadKind::ByKey, find).await
    }

    async fn end(&self, digest: [u8; 32]) -> Result<()> {
        let end = move |tx: &mut dyn Tx| tx.execute(&END, values![&digest]).map(drop);
        self.0.write(App::Links, end).await
    }
}
