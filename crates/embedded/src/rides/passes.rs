//! Passes.

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    rides::{Claimed, PASSES_MAX, Pass, PassStore, SkierId},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::SqliteRides;
use crate::{accounts::row::instant, failure::Failure, writer::App};

const ONE: &str = "SELECT skier, account, hidden, claimed_at FROM passes WHERE skier = ?1";
const OF_ACCOUNT: &str =
    "SELECT skier, account, hidden, claimed_at FROM passes WHERE account = ?1 ORDER BY skier";
const COUNT: &str = "SELECT COUNT(*) FROM passes WHERE account = ?1";
const GIVE: &str =
    "INSERT OR REPLACE INTO passes (skier, account, hidden, claimed_at) VALUES (?1, ?2, FALSE, ?3)";
const HIDE: &str = "UPDATE passes SET hidden = ?3 WHERE skier = ?1 AND account = ?2";
const RELEASE: &str = "DELETE FROM passes WHERE skier = ?1 AND account = ?2";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 6] = [ONE, OF_ACCOUNT, COUNT, GIVE, HIDE, RELEASE];

#[async_trait]
impl PassStore for SqliteRides {
    async fn claim(&self, skier: SkierId, account: AccountId, at: Timestamp) -> Result<Claimed> {
        let claimed = move |connection: &_| claim(connection, skier, account, at);
        self.0.writer.write(App::Rides, claimed).await
    }

    async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>> {
        let all = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(OF_ACCOUNT)?;
            Ok(statement.query_map([account.0], read)?.collect::<Result<_, _>>()?)
        };
        self.0.readers.read(all).await
    }

    async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Option<Pass>> {
        let hide = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(HIDE)?;
            let is_theirs = statement.execute((skier.0, account.0, hidden))? > 0;
            if is_theirs { one(connection, skier) } else { Ok(None) }
        };
        self.0.writer.write(App::Rides, hide).await
    }

    async fn release(&self, skier: SkierId, account: AccountId) -> Result<bool> {
        let release = move |connection: &Connection| {
            Ok(connection.prepare_cached(RELEASE)?.execute((skier.0, account.0))? > 0)
        };
        self.0.writer.write(App::Rides, release).await
    }
}

fn claim(
    connection: &Connection,
    skier: SkierId,
    account: AccountId,
    at: Timestamp,
) -> Result<Claimed, Failure> {
    if let Some(pass) = one(connection, skier)?
        && pass.account == account
    {
        return Ok(Claimed::Already(pass));
    }
    let has: usize = connection.prepare_cached(COUNT)?.query_row([account.0], |row| row.get(0))?;
    if has >= PASSES_MAX {
        return Ok(Claimed::TooMany);
    }
    connection.prepare_cached(GIVE)?.execute((skier.0, account.0, at.as_millisecond()))?;
    let pass = one(connection, skier)?;
    pass.map(Claimed::New).ok_or_else(|| Error::internal("a new pass is not there").into())
}

fn one(connection: &Connection, skier: SkierId) -> Result<Option<Pass>, Failure> {
    Ok(connection.prepare_cached(ONE)?.query_row([skier.0], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Pass> {
    Ok(Pass {
        skier: SkierId(row.get(0)?),
        account: AccountId(row.get(1)?),
        hidden: row.get(2)?,
        claimed_at: instant(3, row.get(3)?)?,
    })
}
