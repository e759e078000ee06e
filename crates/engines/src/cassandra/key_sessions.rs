//! The store of page sessions of API keys.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    key_sessions::{KeySession, KeySessionStore},
    keys::KeyId,
};
use scylla::value::CqlTimestamp;

use super::{
    row::{instant, milliseconds},
    session::Session,
};

/// Sessions in the cluster. A row is written once and deleted once, with fixed write times, so that the deletion wins
/// whatever the nodes' clocks say. Its TTL removes an expired one.
pub(crate) struct CassandraKeySessions(pub(crate) Arc<Session>);

#[async_trait]
impl KeySessionStore for CassandraKeySessions {
    async fn begin(&self, session: KeySession) -> Result<()> {
        let KeySession { digest, key, began_at, expires_at } = session;
        // A TTL of 0 is none.
        let ttl = i32::try_from(expires_at.duration_since(began_at).as_secs()).unwrap_or(1).max(1);
        let values = (&digest[..], key.0, milliseconds(expires_at), ttl);
        self.0.statements.begin_key_session.run(values).await?;
        Ok(())
    }

    async fn find(&self, digest: [u8; 32], now: Timestamp) -> Result<Option<KeyId>> {
        let found = self.0.statements.key_session.first((&digest[..],)).await?;
        let Some((key, expires_at)): Option<(i64, CqlTimestamp)> = found else { return Ok(None) };
        let is_live = instant("key_sessions", expires_at)? > now;
        Ok(is_live.then_some(KeyId(key)))
    }

    async fn end(&self, digest: [u8; 32]) -> Result<()> {
        self.0.statements.end_key_session.run((&digest[..],)).await?;
        Ok(())
    }
}
