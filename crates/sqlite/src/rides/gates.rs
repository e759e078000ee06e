//! Gates.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    rides::{Gate, GateId, GateStore, ResortId},
};
use lodge_sql::App;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::SqliteRides;
use crate::{column::instant, failure::Failure};

const BY_NAME: &str = "SELECT id, name, resort, created_at, revoked_at FROM gates WHERE name = ?1";
const BY_DIGEST: &str =
    "SELECT id, name, resort, created_at, revoked_at FROM gates WHERE digest = ?1";
const ALL: &str = "SELECT id, name, resort, created_at, revoked_at FROM gates ORDER BY id";
const ADD: &str = "INSERT INTO gates (name, resort, digest, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO NOTHING";
const REVOKE: &str = "UPDATE gates SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL";

const RENEW: &str = "UPDATE gates SET digest = ?2, revoked_at = NULL WHERE name = ?1";

/// Those that must find their way by an index; only the list of all gates reads all of them.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [BY_NAME, BY_DIGEST, ADD, REVOKE, RENEW];

#[async_trait]
impl GateStore for SqliteRides {
    async fn add(
        &self,
        name: &str,
        resort: Option<ResortId>,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Result<Gate> {
        let name = name.to_owned();
        let added = move |connection: &_| add(connection, &name, resort, digest, at);
        self.0.writer.write(App::Rides, added).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<Gate>> {
        self.0.readers.read(move |connection| one(connection, BY_DIGEST, digest)).await
    }

    async fn list(&self) -> Result<Vec<Gate>> {
        let all = |connection: &Connection| {
            Ok(connection.prepare_cached(ALL)?.query_map([], read)?.collect::<Result<_, _>>()?)
        };
        self.0.readers.read(all).await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<Gate>> {
        let name = name.to_owned();
        let revoked = move |connection: &Connection| {
            connection.prepare_cached(REVOKE)?.execute((&name, at.as_millisecond()))?;
            one(connection, BY_NAME, name)
        };
        self.0.writer.write(App::Rides, revoked).await
    }

    async fn renew(&self, name: &str, digest: [u8; 32]) -> Result<Option<Gate>> {
        let name = name.to_owned();
        let renewed = move |connection: &Connection| {
            connection.prepare_cached(RENEW)?.execute((&name, digest))?;
            one(connection, BY_NAME, name)
        };
        self.0.writer.write(App::Rides, renewed).await
    }
}

fn add(
    connection: &Connection,
    name: &str,
    resort: Option<ResortId>,
    digest: [u8; 32],
    at: Timestamp,
) -> Result<Gate, Failure> {
    let row = (name, resort.map(|resort| resort.0), digest, at.as_millisecond());
    if connection.prepare_cached(ADD)?.execute(row)? == 0 {
        return Err(Error::conflict(
            "there is a gate of that name; if its key is lost or was revoked, renew it",
        )
        .into());
    }
    one(connection, BY_NAME, name)?.ok_or_else(|| Error::internal("a new gate is not there").into())
}

fn one(connection: &Connection, sql: &str, by: impl ToSql) -> Result<Option<Gate>, Failure> {
    Ok(connection.prepare_cached(sql)?.query_row([by], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Gate> {
    Ok(Gate {
        id: GateId(row.get(0)?),
        name: row.get(1)?,
        resort: row.get::<_, Option<u16>>(2)?.map(ResortId),
        created_at: instant(3, row.get(3)?)?,
        revoked_at: row.get::<_, Option<i64>>(4)?.map(|at| instant(4, at)).transpose()?,
    })
}
