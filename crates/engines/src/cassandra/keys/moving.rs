//! API keys, copied by a move.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use lodge_domain::{Error, Result, links::moving::StoredKey};

use super::{CassandraKeys, KeyRow};
use crate::cassandra::{failure::Failure, row::milliseconds};

/// Keys that are looked up concurrently.
const AT_ONCE: usize = 16;

impl CassandraKeys {
    /// Stores a key with its id, unless there is one of the same name.
    pub(in crate::cassandra) async fn put(&self, stored: &StoredKey) -> Result<(), Failure> {
        let (statements, key, digest) = (&self.0.statements, &stored.key, &stored.digest[..]);
        let name = key.name.as_str();
        statements.index_digest.run((digest, name)).await?;
        statements.index_id.run((key.id.0, name)).await?;
        let (created_at, revoked_at) =
            (milliseconds(key.created_at), key.revoked_at.map(milliseconds));
        let values = (name, key.id.0, digest, created_at, revoked_at);
        statements.put_key.transact(values).await?;
        Ok(())
    }

    /// Returns all keys.
    pub(in crate::cassandra) async fn stored(&self) -> Result<Vec<StoredKey>> {
        let rows: Vec<KeyRow> = self.0.statements.keys.all(()).await?;
        rows.into_iter().map(KeyRow::stored).collect()
    }

    /// Returns the keys that are found by their digest and by their id.
    pub(in crate::cassandra) async fn reachable(&self) -> Result<Vec<StoredKey>> {
        let looked = self.stored().await?.into_iter().map(async |stored: StoredKey| {
            let statements = &self.0.statements;
            let by_digest: Option<(String,)> =
                statements.name_by_digest.first((&stored.digest[..],)).await?;
            let by_id: Option<(String,)> = statements.name_by_id.first((stored.key.id.0,)).await?;
            let name = Some((stored.key.name.clone(),));
            Ok((by_digest == name && by_id == name).then_some(stored))
        });
        let found: Vec<Option<StoredKey>> = stream::iter(looked)
            .buffered(AT_ONCE)
            .try_collect()
            .await
            .map_err(|error: Failure| Error::from(error))?;
        Ok(found.into_iter().flatten().collect())
    }
}

impl KeyRow {
    fn stored(self) -> Result<StoredKey> {
        let digest = self.digest.as_slice().try_into();
        let digest = digest.map_err(|error| Failure::unreadable("keys_by_name", &error))?;
        Ok(StoredKey { digest, key: self.key()? })
    }
}
