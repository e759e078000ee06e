//! What identifies an installation: its secret, and the id of its accounts.

use lodge_domain::{OsRandom, Random as _, secret::InstallationSecret};
use rusqlite::{Connection, Result};

const ADD: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const GET: &str = "SELECT value FROM meta WHERE name = ?1";
const REPLACE: &str = "UPDATE meta SET value = ?1 WHERE name = 'secret'";

/// Returns the secret, which is created on first use.
pub(crate) fn secret(connection: &Connection) -> Result<InstallationSecret> {
    get_or_add(connection, "secret", fresh_secret().reveal()).map(InstallationSecret::new)
}

/// Returns the id of the accounts in this file. It stays when the secret is replaced.
pub(crate) fn accounts_id(
    connection: &Connection,
    secret: &InstallationSecret,
) -> Result<[u8; 32]> {
    // Links that refer to these accounts are marked with this value since before it was stored.
    get_or_add(connection, "accounts_id", &secret.sign("accounts' store", &[]))
}

/// Replaces the secret.
pub(crate) fn replace_secret(connection: &Connection) -> Result<()> {
    connection.execute(REPLACE, [fresh_secret().reveal()]).map(drop)
}

fn fresh_secret() -> InstallationSecret {
    let mut bytes = [0; 32];
    OsRandom.fill(&mut bytes);
    InstallationSecret::new(bytes)
}

fn get_or_add(connection: &Connection, name: &str, value: &[u8; 32]) -> Result<[u8; 32]> {
    connection.execute(ADD, (name, value))?;
    connection.query_row(GET, [name], |row| row.get(0))
}
