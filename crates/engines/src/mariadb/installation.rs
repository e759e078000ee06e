//! What identifies an installation: its secret, the id of its accounts, and the id of their change feed.

use lodge_domain::{Error, OsRandom, Random as _, secret::InstallationSecret};
use lodge_sql::{Failure, FromValue, Statement, Tx, Value};
use uuid::Uuid;

const ADD: Statement = Statement::mariadb("INSERT INTO meta (name, value) VALUES (?, ?)");
const GET: Statement = Statement::mariadb("SELECT value FROM meta WHERE name = ?");
const REPLACE: Statement = Statement::mariadb("UPDATE meta SET value = ? WHERE name = 'secret'");

/// The values of one database, each drawn at random on first use.
pub(super) struct Installation {
    pub(super) secret: InstallationSecret,
    /// The id of the accounts, by which links elsewhere are bound to them.
    pub(super) accounts_id: [u8; 32],
    /// The id of the accounts' change feed.
    pub(super) feed: Uuid,
}

impl Installation {
    /// Reads the values; adds those that are missing.
    pub(super) fn open(tx: &mut dyn Tx) -> Result<Self, Failure> {
        Ok(Self {
            secret: InstallationSecret::new(get_or_add(tx, "secret", &random())?),
            accounts_id: get_or_add(tx, "accounts_id", &random())?,
            feed: get_or_add(tx, "accounts_feed", Uuid::new_v4().as_bytes())?,
        })
    }
}

/// Replaces the secret.
pub(super) fn replace_secret(tx: &mut dyn Tx) -> Result<(), Failure> {
    tx.execute(&REPLACE, &[Value::Bytes(&random())]).map(drop)
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    OsRandom.fill(&mut bytes);
    bytes
}

fn get_or_add<T: FromValue>(tx: &mut dyn Tx, name: &str, value: &[u8]) -> Result<T, Failure> {
    tx.insert(&ADD, &[Value::Text(name), Value::Bytes(value)])?;
    let kept = tx.one(&GET, &[Value::Text(name)], |row| row.get(0))?;
    kept.ok_or_else(|| Error::internal(format!("table meta has no {name}")).into())
}
