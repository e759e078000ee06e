//! The pass store, with the profiles that holders allow on leaderboards.

use std::{ops::RangeInclusive, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    pictures::PictureId,
    rides::{LeaderProfile, PASSES_MAX, Pass, PassClaim, PassHolder, PassStore, SkierId},
};

use crate::{
    App, Database, Failure, ReadKind, Row, Tx,
    statement::{pair, same, statements},
    tx::values,
};

/// The column `account` of a pass that no account has claimed; account numbers begin at 1.
const UNCLAIMED: i64 = 0;

statements! {
    ONE = same("SELECT skier, account, hidden, claimed_at, renewals FROM passes WHERE skier = ?");
    OF_ACCOUNT = same("SELECT skier, account, hidden, claimed_at FROM passes WHERE account = ? ORDER BY skier");
    COUNT = same("SELECT COUNT(*) FROM passes WHERE account = ?");
    GIVE = pair(
        "INSERT INTO passes (skier, account, hidden, claimed_at) VALUES (?, ?, FALSE, ?) \
            ON CONFLICT (skier) DO UPDATE SET account = excluded.account, claimed_at = excluded.claimed_at",
        "INSERT INTO passes (skier, account, hidden, claimed_at) VALUES (?, ?, FALSE, ?) \
            ON DUPLICATE KEY UPDATE account = VALUES(account), claimed_at = VALUES(claimed_at)",
    );
    HIDE = same("UPDATE passes SET hidden = ? WHERE skier = ? AND account = ?");
    RELEASE = same("UPDATE passes SET account = ?, hidden = FALSE WHERE skier = ? AND account = ?");
    RELEASE_ALL = same("UPDATE passes SET account = ? WHERE account = ?");
    /// The next account that has a pass.
    HOLDER = same("SELECT account FROM passes WHERE account > ? ORDER BY account LIMIT 1");
    /// The next account that has a profile.
    SHOWN = same("SELECT account FROM pass_profiles WHERE account > ? ORDER BY account LIMIT 1");
    HOLDER_OF = same("SELECT p.account, s.username, s.nickname, s.picture, s.since FROM passes p \
        LEFT JOIN pass_profiles s ON s.account = p.account AND NOT p.hidden WHERE p.skier = ? AND p.account > 0");
    PROFILE = same("SELECT account, username, nickname, picture, since FROM pass_profiles WHERE account = ?");
    SHOW_PROFILE = same("INSERT INTO pass_profiles (username, nickname, picture, account, since) VALUES (?, ?, ?, ?, ?)");
    UPDATE_PROFILE = same("UPDATE pass_profiles SET username = ?, nickname = ?, picture = ? WHERE account = ?");
    HIDE_PROFILE = same("DELETE FROM pass_profiles WHERE account = ?");
    RENEWALS = same("SELECT skier, renewals FROM passes WHERE skier BETWEEN ? AND ? AND renewals > 0 ORDER BY skier");
    RENEW = pair(
        "INSERT INTO passes (skier, account, hidden, claimed_at, renewals) VALUES (?, ?, FALSE, 0, 1) \
            ON CONFLICT (skier) DO UPDATE SET renewals = renewals + 1",
        "INSERT INTO passes (skier, account, hidden, claimed_at, renewals) VALUES (?, ?, FALSE, 0, 1) \
            ON DUPLICATE KEY UPDATE renewals = renewals + 1",
    );
}

/// The [`PassStore`] of a database.
pub struct SqlPasses(pub Arc<dyn Database>);

#[async_trait]
impl PassStore for SqlPasses {
    async fn claim(
        &self,
        skier: SkierId,
        account: AccountId,
        renewals: u32,
        at: Timestamp,
    ) -> Result<PassClaim> {
        self.0.write(App::Rides, move |tx| claim(tx, skier, account, renewals, at)).await
    }

    async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>> {
        self.0
            .read(App::Rides, ReadKind::ByKey, move |tx| {
                tx.all(&OF_ACCOUNT, values![account.0], read)
            })
            .await
    }

    async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Option<Pass>> {
        let hide = move |tx: &mut dyn Tx| {
            let is_theirs = tx.execute(&HIDE, values![hidden, skier.0, account.0])? > 0;
            if is_theirs { tx.one(&ONE, values![skier.0], read) } else { Ok(None) }
        };
        self.0.write(App::Rides, hide).await
    }

    async fn release(&self, skier: SkierId, account: AccountId) -> Result<bool> {
        let release = move |tx: &mut dyn Tx| {
            Ok(tx.execute(&RELEASE, values![UNCLAIMED, skier.0, account.0])? > 0)
        };
        self.0.write(App::Rides, release).await
    }

    async fn release_all(&self, account: AccountId) -> Result<()> {
        let release = move |tx: &mut dyn Tx| {
            tx.execute(&HIDE_PROFILE, values![account.0])?;
            tx.execute(&RELEASE_ALL, values![UNCLAIMED, account.0]).map(drop)
        };
        self.0.write(App::Rides, release).await
    }

    async fn holders(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        self.0.read(App::Rides, ReadKind::Scan, move |tx| holders(tx, after, limit)).await
    }

    async fn holders_of(&self, skiers: Vec<SkierId>) -> Result<Vec<(SkierId, PassHolder)>> {
        let holders = move |tx: &mut dyn Tx| {
            let find = |skier: &SkierId| {
                let found = tx.one(&HOLDER_OF, values![skier.0], holder)?;
                Ok(found.map(|holder| (*skier, holder)))
            };
            skiers.iter().map(find).filter_map(Result::transpose).collect()
        };
        self.0.read(App::Rides, ReadKind::ByKey, holders).await
    }

    async fn profile(&self, account: AccountId) -> Result<Option<LeaderProfile>> {
        let find = move |tx: &mut dyn Tx| tx.one(&PROFILE, values![account.0], profile);
        Ok(self.0.read(App::Rides, ReadKind::ByKey, find).await?.flatten())
    }

    async fn show_profile(&self, profile: LeaderProfile) -> Result<()> {
        let show = move |tx: &mut dyn Tx| {
            if update_profile(tx, &profile)? == 0 {
                let LeaderProfile { account, username, nickname, picture, since } = &profile;
                let picture = picture.as_ref().map(PictureId::bytes);
                let row = values![username, nickname, picture, account.0, *since];
                tx.insert(&SHOW_PROFILE, row)?;
            }
            Ok(())
        };
        self.0.write(App::Rides, show).await
    }

    async fn update_profile(&self, profile: LeaderProfile) -> Result<()> {
        let update = move |tx: &mut dyn Tx| update_profile(tx, &profile).map(drop);
        self.0.write(App::Rides, update).await
    }

    async fn hide_profile(&self, account: AccountId) -> Result<()> {
        let hide = move |tx: &mut dyn Tx| tx.execute(&HIDE_PROFILE, values![account.0]).map(drop);
        self.0.write(App::Rides, hide).await
    }

    async fn renewals(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, u32)>> {
        let renewals = move |tx: &mut dyn Tx| {
            let range = values![skiers.start().0, skiers.end().0];
            tx.all(&RENEWALS, range, |row| Ok((SkierId(row.get(0)?), row.get(1)?)))
        };
        self.0.read(App::Rides, ReadKind::ByKey, renewals).await
    }

    async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()> {
        let renew = move |tx: &mut dyn Tx| {
            let mut skiers = skiers.start().0..=skiers.end().0;
            skiers.try_for_each(|skier| tx.execute(&RENEW, values![skier, UNCLAIMED]).map(drop))
        };
        self.0.write(App::Rides, renew).await
    }
}

fn claim(
    tx: &mut dyn Tx,
    skier: SkierId,
    account: AccountId,
    renewals: u32,
    at: Timestamp,
) -> Result<PassClaim, Failure> {
    // Serializes claims of one account, so that each counts the passes of those before it.
    tx.guard("passes of an account", account.0)?;
    let known = tx.one(&ONE, values![skier.0], |row| Ok((read(row)?, row.get::<u32>(4)?)))?;
    let renewed = known.map_or(0, |(_, renewed)| renewed);
    if renewed != renewals {
        return Ok(PassClaim::Renewed);
    }
    if let Some((pass, _)) = known
        && pass.account == account
    {
        return Ok(PassClaim::Already(pass));
    }
    let has = tx.one(&COUNT, values![account.0], |row| row.get::<i64>(0))?;
    if has.is_some_and(|has| has.unsigned_abs() >= PASSES_MAX as u64) {
        return Ok(PassClaim::TooMany);
    }
    tx.execute(&GIVE, values![skier.0, account.0, at])?;
    let pass = tx.one(&ONE, values![skier.0], read)?;
    pass.map(PassClaim::New)
        .ok_or_else(|| Error::internal("the pass just claimed was not found").into())
}

fn holders(
    tx: &mut dyn Tx,
    after: Option<AccountId>,
    limit: usize,
) -> Result<Vec<AccountId>, Failure> {
    let (mut holders, mut last) = (Vec::new(), after.map_or(UNCLAIMED, |after| after.0));
    while holders.len() < limit {
        let mut next = |statement| tx.one(statement, values![last], |row| row.get::<i64>(0));
        let Some(next) = next(&HOLDER)?.into_iter().chain(next(&SHOWN)?).min() else { break };
        holders.push(AccountId(next));
        last = next;
    }
    Ok(holders)
}

/// Updates an account's profile; returns 0 if it has none.
fn update_profile(tx: &mut dyn Tx, profile: &LeaderProfile) -> Result<u64, Failure> {
    let LeaderProfile { account, username, nickname, picture, since: _ } = profile;
    let picture = picture.as_ref().map(PictureId::bytes);
    tx.execute(&UPDATE_PROFILE, values![username, nickname, picture, account.0])
}

fn holder(row: Row<'_>) -> Result<PassHolder, Failure> {
    Ok(PassHolder { account: AccountId(row.get(0)?), profile: profile(row)? })
}

/// Reads an account and its profile; `None` if the columns of the profile are NULL.
fn profile(row: Row<'_>) -> Result<Option<LeaderProfile>, Failure> {
    let Some(username) = row.get(1)? else { return Ok(None) };
    Ok(Some(LeaderProfile {
        account: AccountId(row.get(0)?),
        username,
        nickname: row.get(2)?,
        picture: row.get::<Option<_>>(3)?.map(PictureId::stored),
        since: row.get(4)?,
    }))
}

/// Reads the first four columns of a pass.
fn read(row: Row<'_>) -> Result<Pass, Failure> {
    Ok(Pass {
        skier: SkierId(row.get(0)?),
        account: AccountId(row.get(1)?),
        hidden: row.get(2)?,
        claimed_at: row.get(3)?,
    })
}
