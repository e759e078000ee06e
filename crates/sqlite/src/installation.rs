//! What identifies an installation: its secret, and the id of its accounts.

use lodge_domain::{OsRandom, Random as _, secret::InstallationSecret};
use rusqlite::{Connection, OptionalExtension as _, Result};

const ADD: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const GET: &str = "SELECT value FROM meta WHERE name = ?1";

/// Whether there is an account.
pub(crate) const ANY_ACCOUNT: &str =
    "SELECT EXISTS (SELECT 1 FROM accounts WHERE deleted_at IS NULL)";

/// The name of the id of the accounts that own the links in this file, if they are elsewhere.
const LINK_OWNERS: &str = "link_owners";

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
    get_or_add(connection, "accounts_id", &first_accounts_id(secret))
}

/// The id before it was stored, with which links that refer to these accounts are marked since then.
pub(crate) fn first_accounts_id(secret: &InstallationSecret) -> [u8; 32] {
    secret.sign("accounts' store", &[])
}

/// Binds the links in this file to the accounts with the id `accounts`, unless they are bound already. Returns whether
/// they are bound to these accounts. While the file has accounts, which have the id `own`, links may belong to them.
pub(crate) fn bind_links(
    connection: &Connection,
    own: &[u8; 32],
    accounts: &[u8; 32],
) -> Result<bool> {
    let bound: Option<[u8; 32]> =
        connection.query_row(GET, [LINK_OWNERS], |row| row.get(0)).optional()?;
    if let Some(bound) = bound {
        return Ok(bound == *accounts);
    }
    if accounts == own {
        return Ok(true);
    }
    if connection.query_row(ANY_ACCOUNT, [], |row| row.get(0))? {
        return Ok(false);
    }
    connection.execute(ADD, (LINK_OWNERS, accounts))?;
    Ok(true)
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
