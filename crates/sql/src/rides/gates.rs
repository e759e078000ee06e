//! The gate store.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    rides::{Gate, GateId, GateStore, ResortId},
};

use crate::{
    App, Database, Failure, ReadKind, Row, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

macro_rules! select {
    ($which:literal) => {
        same(concat!("SELECT id, name, resort, created_at, revoked_at FROM gates ", $which))
    };
}

statements! {
    BY_NAME = select!("WHERE name = ?");
    BY_DIGEST = select!("WHERE digest = ?");
    ADD = same("INSERT INTO gates (name, resort, digest, created_at) VALUES (?, ?, ?, ?)");
    REVOKE = same("UPDATE gates SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL");
    RENEW = same("UPDATE gates SET digest = ?, revoked_at = NULL WHERE name = ?");
}

/// Intentionally reads the whole table.
static ALL: Statement = select!("ORDER BY id");

/// The [`GateStore`] of a database.
pub struct SqlGates(pub Arc<dyn Database>);

#[async_trait]
impl GateStore for SqlGates {
    async fn add(
        &self,
        name: &str,
        resort: Option<ResortId>,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Result<Gate> {
        let name = name.to_owned();
        let add = move |tx: &mut dyn Tx| {
            let values = values![&name, resort.map(|resort| resort.0), &digest, at];
            if tx.insert(&ADD, values)?.is_none() {
                let taken =
                    "a gate with that name already exists; if its key is lost or revoked, renew it";
                return Err(Error::conflict(taken).into());
            }
            let added = tx.one(&BY_NAME, values![&name], read)?;
            added.ok_or_else(|| Error::internal("the gate just inserted was not found").into())
        };
        self.0.write(App::Rides, add).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<Gate>> {
        let find = move |tx: &mut dyn Tx| tx.one(&BY_DIGEST, values![&digest], read);
        self.0.read(App::Rides, ReadKind::ByKey, find).await
    }

    async fn list(&self) -> Result<Vec<Gate>> {
        let list = |tx: &mut dyn Tx| tx.all(&ALL, values![], read);
        self.0.read(App::Rides, ReadKind::Scan, list).await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<Gate>> {
        let name = name.to_owned();
        let revoke = move |tx: &mut dyn Tx| {
            tx.execute(&REVOKE, values![at, &name])?;
            tx.one(&BY_NAME, values![&name], read)
        };
        self.0.write(App::Rides, revoke).await
    }

    async fn renew(&self, name: &str, digest: [u8; 32]) -> Result<Option<Gate>> {
        let name = name.to_owned();
        let renew = move |tx: &mut dyn Tx| {
            tx.execute(&RENEW, values![&digest, &name])?;
            tx.one(&BY_NAME, values![&name], read)
        };
        self.0.write(App::Rides, renew).await
    }
}

fn read(row: Row<'_>) -> Result<Gate, Failure> {
    Ok(Gate {
        id: GateId(row.get(0)?),
        name: row.get(1)?,
        resort: row.get::<Option<u16>>(2)?.map(ResortId),
        created_at: row.get(3)?,
        revoked_at: row.get(4)?,
    })
}
