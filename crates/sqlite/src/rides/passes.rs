//! Passes.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    rides::{Claimed, PASSES_MAX, Pass, PassStore, SkierId},
};
use lodge_sql::App;
use rusqlite::{Connection, OptionalExtension, Row};

use super::SqliteRides;
use crate::{column::instant, failure::Failure};

/// The account of what is nobody's: numbers of accounts begin at 1.
const NOBODY: i64 = 0;

const ONE: &str = "SELECT skier, account, hidden, claimed_at FROM passes WHERE skier = ?1";
const OF_ACCOUNT: &str =
    "SELECT skier, account, hidden, claimed_at FROM passes WHERE account = ?1 ORDER BY skier";
const COUNT: &str = "SELECT COUNT(*) FROM passes WHERE account = ?1";
const GIVE: &str = "INSERT INTO passes (skier, account, hidden, claimed_at) VALUES (?1, ?2, FALSE, ?3) \
    ON CONFLICT (skier) DO UPDATE SET account = excluded.account, claimed_at = excluded.claimed_at";
const HIDE: &str = "UPDATE passes SET hidden = ?3 WHERE skier = ?1 AND account = ?2";
const RELEASE: &str =
    "UPDATE passes SET account = ?3, hidden = FALSE WHERE skier = ?1 AND account = ?2";
const RELEASE_ALL: &str = "UPDATE passes SET account = ?2 WHERE account = ?1";
/// The next that has any.
const HOLDER: &str = "SELECT account FROM passes WHERE account > ?1 ORDER BY account LIMIT 1";
const RENEWALS: &str = "SELECT skier, renewals FROM passes WHERE skier BETWEEN ?1 AND ?2 AND renewals > 0 ORDER BY skier";
const RENEW: &str = "INSERT INTO passes (skier, account, hidden, claimed_at, renewals) VALUES (?1, ?2, FALSE, 0, 1) \
    ON CONFLICT (skier) DO UPDATE SET renewals = renewals + 1";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 10] =
    [ONE, OF_ACCOUNT, COUNT, GIVE, HIDE, RELEASE, RELEASE_ALL, HOLDER, RENEWALS, RENEW];

#[async_trait]
impl PassStore for SqliteRides {
    async fn claim(
        &self,
        skier: SkierId,
        account: AccountId,
        renewals: u32,
        at: Timestamp,
    ) -> Result<Claimed> {
        let claimed = move |connection: &_| claim(connection, skier, account, renewals, at);
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
            let mut statement = connection.prepare_cached(RELEASE)?;
            Ok(statement.execute((skier.0, account.0, NOBODY))? > 0)
        };
        self.0.writer.write(App::Rides, release).await
    }

    async fn release_all(&self, account: AccountId) -> Result<()> {
        let release = move |connection: &Connection| {
            connection.prepare_cached(RELEASE_ALL)?.execute((account.0, NOBODY))?;
            Ok(())
        };
        self.0.writer.write(App::Rides, release).await
    }

    async fn holders(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        let holders = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(HOLDER)?;
            let (mut holders, mut last) = (Vec::new(), after.map_or(NOBODY, |after| after.0));
            while holders.len() < limit {
                let next = statement.query_row([last], |row| row.get(0)).optional()?;
                let Some(next) = next else { break };
                holders.push(AccountId(next));
                last = next;
            }
            Ok(holders)
        };
        self.0.scans.read(holders).await
    }

    async fn renewals(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, u32)>> {
        let renewals = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(RENEWALS)?;
            let read = |row: &Row<'_>| Ok((SkierId(row.get(0)?), row.get(1)?));
            let found = statement.query_map((skiers.start().0, skiers.end().0), read)?;
            Ok(found.collect::<Result<_, _>>()?)
        };
        self.0.readers.read(renewals).await
    }

    async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()> {
        let renew = move |connection: &Connection| {
            let mut statement = connection.prepare_cached(RENEW)?;
            for skier in skiers.start().0..=skiers.end().0 {
                statement.execute((skier, NOBODY))?;
            }
            Ok(())
        };
        self.0.writer.write(App::Rides, renew).await
    }
}

fn claim(
    connection: &Connection,
    skier: SkierId,
    account: AccountId,
    renewals: u32,
    at: Timestamp,
) -> Result<Claimed, Failure> {
    let range = (skier.0, skier.0);
    let renewed = connection.prepare_cached(RENEWALS)?.query_row(range, |row| row.get::<_, u32>(1));
    if renewed.optional()?.unwrap_or(0) != renewals {
        return Ok(Claimed::Renewed);
    }
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
