//! Lookups of a single account.

use lodge_domain::accounts::{Account, AccountId};

use super::row::{columns, credential, read_with_credential};
use crate::{
    Failure, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    BY_NAME = same(concat!("SELECT ", columns!(), ", ", credential!(), " FROM accounts a \
        WHERE a.username = ? AND a.deleted_at IS NULL"));
    BY_ID = same(concat!("SELECT ", columns!(), ", ", credential!(), " FROM accounts a \
        WHERE a.id = ? AND a.deleted_at IS NULL"));
}

/// The lookup by username that a sign-in runs.
pub static FIND_BY_NAME: &Statement = &BY_NAME;

/// Returns the account with this id; `None` also if it is deleted.
pub(super) fn get(tx: &mut dyn Tx, id: AccountId) -> Result<Option<Account>, Failure> {
    let found = tx.one(&BY_ID, values![id.0], read_with_credential)?;
    Ok(found.map(|(account, _)| account))
}
