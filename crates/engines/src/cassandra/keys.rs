//! The store of API keys.

mod moving;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    keys::{ApiKey, KeyId, KeyStore},
};
use scylla::{DeserializeRow, value::CqlTimestamp};
use uuid::Uuid;

use super::{
    failure::Failure,
    row::{instant, milliseconds},
    session::Session,
};

/// API keys in the cluster. The row by name is authoritative. The other two tables are indexes: they are
/// written first, and a hit is checked against the row by name.
pub(crate) struct CassandraKeys(pub(crate) Arc<Session>);

#[derive(DeserializeRow)]
struct KeyRow {
    name: String,
    id: i64,
    created_at: CqlTimestamp,
    revoked_at: Option<CqlTimestamp>,
    digest: Vec<u8>,
}

#[async_trait]
impl KeyStore for CassandraKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        let statements = &self.0.statements;
        // Random and not negative: there is no shared counter.
        let id = (Uuid::new_v4().as_u64_pair().0 >> 1).cast_signed();
        statements.index_digest.run((&digest[..], name)).await?;
        statements.index_id.run((id, name)).await?;
        let added = statements.add_key.transact((name, id, &digest[..], milliseconds(at))).await;
        match self.row(name).await? {
            Some(row) if row.digest == digest => row.key(),
            Some(_) => Err(Error::conflict("there is an API key of that name")),
            None => Err(added.err().map_or_else(|| Error::internal("key not added"), Error::from)),
        }
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        let name = self.0.statements.name_by_digest.first((&digest[..],)).await?;
        self.named(name, |row| row.digest == digest).await
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let name = self.0.statements.name_by_id.first((id.0,)).await?;
        self.named(name, |row| row.id == id.0).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        let rows: Vec<KeyRow> = self.0.statements.keys.all(()).await?;
        let mut keys = rows.into_iter().map(KeyRow::key).collect::<Result<Vec<_>>>()?;
        keys.sort_by(|one, other| {
            (one.created_at, &one.name).cmp(&(other.created_at, &other.name))
        });
        Ok(keys)
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let Some(row) = self.row(name).await? else { return Ok(None) };
        let values = (milliseconds(at), name, row.id);
        let revoked = self.0.statements.revoke_key.transact(values).await;
        let row = self.row(name).await?;
        match row {
            Some(row) if row.revoked_at.is_none() => Err(revoked
                .err()
                .map_or_else(|| Error::internal("the API key was not revoked"), Error::from)),
            row => row.map(KeyRow::key).transpose(),
        }
    }
}

impl CassandraKeys {
    async fn row(&self, name: &str) -> Result<Option<KeyRow>, Failure> {
        self.0.statements.key_by_name.first((name,)).await
    }

    async fn named(
        &self,
        name: Option<(String,)>,
        fits: impl Fn(&KeyRow) -> bool,
    ) -> Result<Option<ApiKey>> {
        let Some((name,)) = name else { return Ok(None) };
        self.row(&name).await?.filter(fits).map(KeyRow::key).transpose()
    }
}

impl KeyRow {
    fn key(self) -> Result<ApiKey> {
        const TABLE: &str = "keys_by_name";
        let revoked_at = self.revoked_at.map(|at| instant(TABLE, at)).transpose()?;
        let created_at = instant(TABLE, self.created_at)?;
        Ok(ApiKey { id: KeyId(self.id), name: self.name, created_at, revoked_at })
    }
}
