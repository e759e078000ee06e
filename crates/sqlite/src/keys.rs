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

/// The statements on one table of keys.
pub(crate) struct Table {
    by_name: &'static str,
    by_digest: &'static str,
    by_id: &'static str,
    all: &'static str,
    add: &'static str,
    revoke: &'static str,
    app: App,
}

macro_rules! table {
    ($table:literal, $app:expr) => {
        Table {
            by_name: concat!(
                "SELECT id, name, created_at, revoked_at FROM ",
                $table,
                " WHERE name = ?1"
            ),
            by_digest: concat!(
                "SELECT id, name, created_at, revoked_at FROM ",
                $table,
                " WHERE digest = ?1"
            ),
            by_id: concat!(
                "SELECT id, name, created_at, revoked_at FROM ",
                $table,
                " WHERE id = ?1"
            ),
            all: concat!("SELECT id, name, created_at, revoked_at FROM ", $table, " ORDER BY id"),
            add: concat!(
                "INSERT INTO ",
                $table,
                " (name, digest, created_at) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING"
            ),
            revoke: concat!(
                "UPDATE ",
                $table,
                " SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL"
            ),
            app: $app,
        }
    };
}

/// Who makes links in their own name.
pub(crate) static API_KEYS: Table = table!("api_keys", App::Links);

/// Programs that write on the board.
pub(crate) static BOTS: Table = table!("bots", App::Board);

impl Table {
    /// Those that must find their way by an index; only the list of all keys reads all of them.
    #[cfg(test)]
    pub(crate) fn statements(&self) -> [&'static str; 5] {
        [self.by_name, self.by_digest, self.by_id, self.add, self.revoke]
    }
}

/// Keys in a table of the database.
pub(crate) struct SqliteKeys {
    pub(crate) engine: Arc<Engine>,
    pub(crate) table: &'static Table,
}

#[async_trait]
impl KeyStore for SqliteKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        let (name, table) = (name.to_owned(), self.table);
        let added = move |connection: &_| add(connection, table, &name, digest, at);
        self.engine.writer.write(table.app, added).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        let table = self.table;
        self.engine.readers.read(move |connection| one(connection, table.by_digest, digest)).await
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let table = self.table;
        self.engine.readers.read(move |connection| one(connection, table.by_id, id.0)).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        let table = self.table;
        let all = move |connection: &Connection| {
            let mut all = connection.prepare_cached(table.all)?;
            Ok(all.query_map([], read)?.collect::<Result<_, _>>()?)
        };
        self.engine.readers.read(all).await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let (name, table) = (name.to_owned(), self.table);
        let revoked = move |connection: &Connection| {
            connection.prepare_cached(table.revoke)?.execute((&name, at.as_millisecond()))?;
            one(connection, table.by_name, name)
        };
        self.engine.writer.write(table.app, revoked).await
    }
}

fn add(
    connection: &Connection,
    table: &Table,
    name: &str,
    digest: [u8; 32],
    at: Timestamp,
) -> Result<ApiKey, Failure> {
    if connection.prepare_cached(table.add)?.execute((name, digest, at.as_millisecond()))? == 0 {
        return Err(Error::conflict("there is a key of that name").into());
    }
    one(connection, table.by_name, name)?
        .ok_or_else(|| Error::internal("a new key is not there").into())
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
