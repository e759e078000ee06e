//! The stores of accounts, sessions and identities.

mod change;
mod cleanup;
mod events;
mod feed;
mod find;
mod identities;
mod metered;
mod row;
mod sessions;

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{
    IdempotencyKey, Idempotent, Result,
    accounts::{
        Account, AccountChange, AccountEvent, AccountId, AccountQuery, AccountStore, Credential,
        NewAccount, PictureId, SignUpOutcome, Username,
    },
};

pub use self::{
    cleanup::{EVENTS_KEPT, NAME_RESERVED, remove_expired},
    events::{EVENTS_OF_ONE_KEPT, EVENTS_TRIMMED_EVERY},
    find::FIND_BY_NAME,
    identities::{SqlIdentities, TICKETS_MAX},
    row::{role, role_number},
    sessions::SqlSessions,
};
use self::{
    find::{BY_ID, BY_NAME, get},
    row::{columns, read, read_with_credential},
};
use crate::{
    App, Database, Failure, Statement, Tx,
    outcomes::{self, OutcomeCodec},
    statement::{same, statements},
    tx::values,
};

statements! {
    /// A page of accounts by username; the third parameter is past all names with the prefix.
    LIST = same(concat!("SELECT ", columns!(), " FROM accounts a WHERE a.username > ? AND a.username >= ? \
        AND a.username < ? AND a.deleted_at IS NULL ORDER BY a.username LIMIT ?"));
    PICTURED = same("SELECT 1 FROM accounts WHERE picture = ?");
    /// The number is a literal, because the index of `SQLite` has admins only.
    ANY_ADMIN = same("SELECT 1 FROM accounts WHERE role = 2 LIMIT 1");
}

/// Returns every statement of the account stores.
pub(crate) fn statements() -> impl Iterator<Item = &'static Statement> {
    [
        STATEMENTS,
        change::STATEMENTS,
        events::STATEMENTS,
        feed::STATEMENTS,
        find::STATEMENTS,
        identities::STATEMENTS,
        sessions::STATEMENTS,
        cleanup::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Stored outcome of a sign-up: the new account, or `None` if the name was taken.
static SIGNED_UP: OutcomeCodec<Option<Account>, SignUpOutcome> = OutcomeCodec {
    app: App::Accounts,
    wrap: |made| made.map_or(SignUpOutcome::Taken, |account| SignUpOutcome::SignedUp(account.id)),
    unwrap: |tx, outcome| match outcome {
        SignUpOutcome::SignedUp(id) => Ok(Some(get(tx, id)?.ok_or(SignUpOutcome::DELETED)?)),
        SignUpOutcome::Taken => Ok(None),
    },
};

/// The [`AccountStore`] of a database.
pub struct SqlAccounts(pub Arc<dyn Database>);

#[async_trait]
impl AccountStore for SqlAccounts {
    async fn stored_outcome(&self, idempotency: &IdempotencyKey) -> Result<Option<SignUpOutcome>> {
        let idempotency = idempotency.clone();
        metered::read(&*self.0, move |tx| outcomes::stored_outcome(tx, &idempotency)).await
    }

    async fn add(
        &self,
        account: NewAccount,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Option<Account>>> {
        let add = move |tx: &mut dyn Tx| {
            outcomes::idempotent(tx, idempotency.as_ref(), &SIGNED_UP, |tx| {
                change::add(tx, &account)
            })
        };
        metered::write(&*self.0, add).await
    }

    async fn add_many(&self, accounts: Vec<NewAccount>) -> Result<Vec<bool>> {
        let add = move |tx: &mut dyn Tx| {
            let added = accounts.iter().map(|account| Ok(change::insert(tx, account)?.is_some()));
            added.collect()
        };
        metered::write(&*self.0, add).await
    }

    async fn find(&self, name: &Username) -> Result<Option<(Account, Credential)>> {
        let name = name.clone();
        let find =
            move |tx: &mut dyn Tx| tx.one(&BY_NAME, values![name.as_str()], read_with_credential);
        metered::read(&*self.0, find).await
    }

    async fn get(&self, id: AccountId) -> Result<Option<(Account, Credential)>> {
        let get = move |tx: &mut dyn Tx| tx.one(&BY_ID, values![id.0], read_with_credential);
        metered::read(&*self.0, get).await
    }

    async fn has_admin(&self) -> Result<bool> {
        metered::read(&*self.0, has_admin).await
    }

    async fn list(&self, query: AccountQuery) -> Result<Vec<Account>> {
        metered::scan(&*self.0, move |tx| list(tx, &query)).await
    }

    async fn change(&self, change: AccountChange, event: AccountEvent) -> Result<Option<Account>> {
        metered::write(&*self.0, move |tx| change::change(tx, &change, &event)).await
    }

    async fn remove(&self, event: AccountEvent) -> Result<Option<Account>> {
        metered::write(&*self.0, move |tx| change::remove(tx, &event)).await
    }

    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        metered::scan(&*self.0, move |tx| pictured(tx, &pictures)).await
    }

    async fn events(&self, id: AccountId, limit: usize) -> Result<Vec<AccountEvent>> {
        metered::scan(&*self.0, move |tx| events::of(tx, id, limit)).await
    }
}

fn list(tx: &mut dyn Tx, query: &AccountQuery) -> Result<Vec<Account>, Failure> {
    let after = query.after.as_ref().map_or("", Username::as_str);
    // Nothing sorts after the last code point.
    let end = format!("{}{}", query.prefix, char::MAX);
    let values = values![after, &query.prefix, &end, query.limit];
    tx.all(&LIST, values, |row| read(row, 0))
}

/// Whether an account is an admin; the row of a deleted account has no role.
fn has_admin(tx: &mut dyn Tx) -> Result<bool, Failure> {
    tx.exists(&ANY_ADMIN, values![])
}

fn pictured(tx: &mut dyn Tx, pictures: &[PictureId]) -> Result<Vec<PictureId>, Failure> {
    let mut known = Vec::new();
    for picture in pictures {
        if tx.exists(&PICTURED, values![picture.bytes()])? {
            known.push(*picture);
        }
    }
    Ok(known)
}
