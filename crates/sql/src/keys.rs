//! Stores of API keys and bot tokens.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    keys::{ApiKey, KeyId, KeyStore},
};

use crate::{App, Database, Failure, ReadKind, Row, Statement, Tx, statement::same, tx::values};

/// A table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyTable {
    /// API keys that own links.
    ApiKeys,
    /// Bots of the board.
    Bots,
}

/// The statements on one table.
struct Statements {
    by_name: Statement,
    by_digest: Statement,
    by_id: Statement,
    all: Statement,
    add: Statement,
    revoke: Statement,
}

macro_rules! select {
    ($table:literal, $which:literal) => {
        same(concat!("SELECT id, name, created_at, revoked_at FROM ", $table, " ", $which))
    };
}

macro_rules! statements_on {
    ($table:literal) => {
        Statements {
            by_name: select!($table, "WHERE name = ?"),
            by_digest: select!($table, "WHERE digest = ?"),
            by_id: select!($table, "WHERE id = ?"),
            all: select!($table, "ORDER BY id"),
            add: same(concat!(
                "INSERT INTO ",
                $table,
                " (name, digest, created_at) VALUES (?, ?, ?)"
            )),
            revoke: same(concat!(
                "UPDATE ",
                $table,
                " SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL"
            )),
        }
    };
}

static API_KEYS: Statements = statements_on!("api_keys");
static BOTS: Statements = statements_on!("bots");

impl KeyTable {
    fn statements(self) -> &'static Statements {
        match self {
            Self::ApiKeys => &API_KEYS,
            Self::Bots => &BOTS,
        }
    }

    fn app(self) -> App {
        match self {
            Self::ApiKeys => App::Links,
            Self::Bots => App::Board,
        }
    }

    /// Returns the statements that must use an index; only the list reads the whole table.
    pub(crate) fn indexed_statements(self) -> [&'static Statement; 5] {
        let Statements { by_name, by_digest, by_id, add, revoke, .. } = self.statements();
        [by_name, by_digest, by_id, add, revoke]
    }
}

/// The keys in one table of a database.
pub struct SqlKeys {
    database: Arc<dyn Database>,
    table: KeyTable,
}

impl SqlKeys {
    /// Returns the store of the keys in `table`.
    pub fn new(database: Arc<dyn Database>, table: KeyTable) -> Self {
        Self { database, table }
    }
}

#[async_trait]
impl KeyStore for SqlKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        let (name, statements) = (name.to_owned(), self.table.statements());
        let add = move |tx: &mut dyn Tx| {
            if tx.insert(&statements.add, values![&name, &digest, at])?.is_none() {
                return Err(Error::conflict(
                    "this name is taken, if only by a revoked key; choose another one",
                )
                .into());
            }
            let added = tx.one(&statements.by_name, values![&name], read_key)?;
            added.ok_or_else(|| Error::internal("the key just inserted was not found").into())
        };
        self.database.write(self.table.app(), add).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        let by_digest = &self.table.statements().by_digest;
        let find = move |tx: &mut dyn Tx| tx.one(by_digest, values![&digest], read_key);
        self.database.read(self.table.app(), ReadKind::ByKey, find).await
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let by_id = &self.table.statements().by_id;
        let get = move |tx: &mut dyn Tx| tx.one(by_id, values![id.0], read_key);
        self.database.read(self.table.app(), ReadKind::ByKey, get).await
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        let all = &self.table.statements().all;
        let list = |tx: &mut dyn Tx| tx.all(all, values![], read_key);
        self.database.read(self.table.app(), ReadKind::Scan, list).await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let (name, statements) = (name.to_owned(), self.table.statements());
        let revoke = move |tx: &mut dyn Tx| {
            tx.execute(&statements.revoke, values![at, &name])?;
            tx.one(&statements.by_name, values![&name], read_key)
        };
        self.database.write(self.table.app(), revoke).await
    }
}

/// Reads the columns with which every query of a key table begins: `id`, `name`, `created_at`, `revoked_at`.
pub fn read_key(row: Row<'_>) -> Result<ApiKey, Failure> {
    Ok(ApiKey {
        id: KeyId(row.get(0)?),
        name: row.get(1)?,
        created_at: row.get(2)?,
        revoked_at: row.get(3)?,
    })
}
