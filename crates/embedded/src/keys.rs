//! API keys.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    keys::{ApiKey, KeyId, KeyStore},
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::{engine::Engine, failure::Failure, writer::App};

const BY_NAME: &str = "SELECT id, name, created_at, revoked_at FROM api_keys WHERE name = ?1";
const BY_DIGEST: &str = "SELECT id, name, created_at, revoked_at FROM api_keys WHERE digest = ?1";
const BY_ID: &str = "SELECT id, name, created_at, revoked_at FROM api_keys WHERE id = ?1";
const ALL: &str = "SELECT id, name, created_at, revoked_at FROM api_keys ORDER BY id";
const ADD: &str = "INSERT INTO api_keys (name, digest, created_at) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING";
const REVOKE: &str = "UPDATE api_keys SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL";

/// Those that must find their way by an index; only the list of all keys reads all of them.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [BY_NAME, BY_DIGEST, BY_ID, ADD, REVOKE];

/// API keys in the database.
pub(crate) struct SqliteKeys(pub(crate) Arc<Engine>);

#[async_trait]
impl KeyStore for SqliteKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        let name = name.to_owned();
        self.0.writer.write(App::Links, move |connection| add(connection, &name, digest, at)).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        self.0.readers.read(move |connection| one(connection, BY_DIGEST, digest)).await
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.0.readers.read(move |connection| one(connection, BY_ID, id.0)).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        let all = |connection: &Connection| {
            Ok(connection.prepare_cached(ALL)?.query_map([], read)?.collect::<Result<_, _>>()?)
        };
        self.0.readers.read(all).await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let name = name.to_owned();
        self.0.writer.write(App::Links, move |connection| revoke(connection, &name, at)).await
    }
}

fn add(
    connection: &Connection,
    name: &str,
    digest: [u8; 32],
    at: Timestamp,
) -> Result<ApiKey, Failure> {
    if connection.prepare_cached(ADD)?.execute((name, digest, at.as_millisecond()))? == 0 {
        return Err(Error::conflict("there is an API key of that name").into());
    }
    one(connection, BY_NAME, name)?
        .ok_or_else(|| Error::internal("a new API key is not there").into())
}

fn revoke(connection: &Connection, name: &str, at: Timestamp) -> Result<Option<ApiKey>, Failure> {
    connection.prepare_cached(REVOKE)?.execute((name, at.as_millisecond()))?;
    one(connection, BY_NAME, name)
}

fn one(connection: &Connection, sql: &str, by: impl ToSql) -> Result<Option<ApiKey>, Failure> {
    Ok(connection.prepare_cached(sql)?.query_row([by], read).optional()?)
}

/// Reads the columns that every statement here begins with.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let time = |index: usize, at: i64| {
        Timestamp::from_millisecond(at)
            .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, at))
    };
    Ok(ApiKey {
        id: KeyId(row.get(0)?),
        name: row.get(1)?,
        created_at: time(2, row.get(2)?)?,
        revoked_at: row.get::<_, Option<i64>>(3)?.map(|at| time(3, at)).transpose()?,
    })
}
