//! The accounts' stores.

pub(crate) mod change;
mod events;
mod identities;
mod metered;
pub(crate) mod row;
mod sessions;
mod tidy;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use lodge_domain::{
    Attempt, Done, Result,
    accounts::{
        Account, AccountChange, AccountId, AccountQuery, AccountStore, Credential, Event,
        NewAccount, Outcome, PictureId, Username,
    },
};
use rusqlite::{Connection, OptionalExtension, ToSql};

use self::row::{COLUMNS, CREDENTIAL, read, read_with_credential};
pub(crate) use self::{identities::SqliteIdentities, sessions::SqliteSessions, tidy::tidy};
use crate::{engine::Engine, failure::Failure, outcomes};

pub(crate) static BY_NAME: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS}, {CREDENTIAL} FROM accounts a WHERE a.username = ?1 AND a.deleted_at IS NULL"
    )
});
static BY_ID: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS}, {CREDENTIAL} FROM accounts a WHERE a.id = ?1 AND a.deleted_at IS NULL"
    )
});
/// The names between two, of which the second is past all that begin with a prefix.
static LIST: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM accounts a WHERE a.username > ?1 AND a.username >= ?2 AND a.username < ?3 \
         AND a.deleted_at IS NULL ORDER BY a.username LIMIT ?4"
    )
});

const PICTURED: &str = "SELECT 1 FROM accounts WHERE picture = ?1";

/// Every statement of the accounts.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    let texts = change::STATEMENTS.into_iter().chain(events::STATEMENTS).chain(tidy::STATEMENTS);
    let texts = texts.map(str::to_owned);
    texts
        .chain([BY_NAME.clone(), BY_ID.clone(), LIST.clone(), PICTURED.to_owned()])
        .chain(sessions::statements())
        .chain(identities::statements())
        .collect()
}

/// Accounts in the database.
pub(crate) struct SqliteAccounts(pub(crate) Arc<Engine>);

#[async_trait]
impl AccountStore for SqliteAccounts {
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>> {
        let attempt = attempt.clone();
        metered::read(&self.0, move |connection| outcomes::recall(connection, &attempt)).await
    }

    async fn add(
        &self,
        account: NewAccount,
        attempt: Option<Attempt>,
    ) -> Result<Done<Option<Account>>> {
        let work = move |connection: &Connection| {
            outcomes::once(connection, attempt.as_ref(), &outcomes::signed_up(), || {
                change::add(connection, &account)
            })
        };
        metered::write(&self.0, work).await
    }

    async fn add_many(&self, accounts: Vec<NewAccount>) -> Result<Vec<bool>> {
        let work = move |connection: &Connection| {
            let added = accounts.iter().map(|account| change::insert(connection, account));
            Ok(added.collect::<rusqlite::Result<_>>()?)
        };
        metered::write(&self.0, work).await
    }

    async fn find(&self, name: &Username) -> Result<Option<(Account, Credential)>> {
        let name = name.clone();
        metered::read(&self.0, move |connection| one(connection, &BY_NAME, name.as_str())).await
    }

    async fn get(&self, id: AccountId) -> Result<Option<(Account, Credential)>> {
        metered::read(&self.0, move |connection| one(connection, &BY_ID, id.0)).await
    }

    async fn list(&self, query: AccountQuery) -> Result<Vec<Account>> {
        metered::scan(&self.0, move |connection| list(connection, &query)).await
    }

    async fn change(&self, change: AccountChange, event: Event) -> Result<Option<Account>> {
        let work = move |connection: &Connection| change::change(connection, &change, &event);
        metered::write(&self.0, work).await
    }

    async fn remove(&self, event: Event) -> Result<Option<Account>> {
        let work = move |connection: &Connection| change::remove(connection, &event);
        metered::write(&self.0, work).await
    }

    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        metered::scan(&self.0, move |connection| pictured(connection, pictures)).await
    }

    async fn events(&self, id: AccountId, limit: usize) -> Result<Vec<Event>> {
        metered::scan(&self.0, move |connection| events::of(connection, id, limit)).await
    }
}

fn one(
    connection: &Connection,
    sql: &str,
    by: impl ToSql,
) -> Result<Option<(Account, Credential)>, Failure> {
    Ok(connection.prepare_cached(sql)?.query_row([by], read_with_credential).optional()?)
}

fn list(connection: &Connection, query: &AccountQuery) -> Result<Vec<Account>, Failure> {
    let after = query.after.as_ref().map_or("", Username::as_str);
    // Nothing sorts after the last code point.
    let end = format!("{}{}", query.prefix, char::MAX);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&LIST)?;
    let accounts = statement.query_map((after, &query.prefix, end, limit), |row| read(row, 0))?;
    Ok(accounts.collect::<rusqlite::Result<_>>()?)
}

fn pictured(connection: &Connection, pictures: Vec<PictureId>) -> Result<Vec<PictureId>, Failure> {
    let mut statement = connection.prepare_cached(PICTURED)?;
    let known = pictures.into_iter().map(|id| Ok(statement.exists([id.bytes()])?.then_some(id)));
    known.filter_map(Result::transpose).collect()
}

/// The account of that number.
pub(crate) fn get(connection: &Connection, id: AccountId) -> Result<Option<Account>, Failure> {
    Ok(one(connection, &BY_ID, id.0)?.map(|(account, _)| account))
}
