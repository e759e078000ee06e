//! Webhooks, each with the cursor up to which its receiver has accepted events.

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    board::{
        Cursor, DeliveryStatus, HOOKS_MAX, Hook, HookId, HookSecret, HookStore, HookUrl, NewHook,
        Slug,
    },
};

use super::SqlBoard;
use crate::{
    Failure, Row, Statement, Tx,
    statement::{same, statements},
    tx::values,
};

static ALL: Statement = same(
    "SELECT id, channel, url, created_at, `cursor`, failures, failing_since, next_try, \
    disabled_at, why, secret FROM board_hooks ORDER BY id",
);
static COUNT: Statement = same("SELECT count(*) FROM board_hooks");

statements! {
    ADD = same("INSERT INTO board_hooks (channel, url, secret, created_at, `cursor`) VALUES (?, ?, ?, ?, ?)");
    REMOVE = same("DELETE FROM board_hooks WHERE id = ?");
    ADVANCE = same("UPDATE board_hooks SET `cursor` = ?, failures = 0, failing_since = NULL, next_try = NULL, \
        why = NULL WHERE id = ? AND disabled_at IS NULL");
    NOTE = same("UPDATE board_hooks SET failures = ?, failing_since = ?, next_try = ?, disabled_at = ?, \
        why = ? WHERE id = ?");
}

#[async_trait]
impl HookStore for SqlBoard {
    async fn add(&self, new: NewHook) -> Result<Hook> {
        self.write(move |tx| add(tx, &new)).await
    }

    async fn list(&self) -> Result<Vec<(Hook, HookSecret)>> {
        self.read(|tx| tx.all(&ALL, values![], read)).await
    }

    async fn remove(&self, id: HookId) -> Result<bool> {
        self.write(move |tx| Ok(tx.execute(&REMOVE, values![id.0])? > 0)).await
    }

    async fn advance(&self, id: HookId, cursor: Cursor) -> Result<bool> {
        let cursor = cursor.to_string();
        self.write(move |tx| Ok(tx.execute(&ADVANCE, values![&cursor, id.0])? > 0)).await
    }

    async fn note(&self, id: HookId, delivery: DeliveryStatus) -> Result<bool> {
        let note = move |tx: &mut dyn Tx| {
            let (failures, since, next_try, disabled_at, why) = match &delivery {
                DeliveryStatus::Healthy => (0, None, None, None, None),
                DeliveryStatus::Failing { failures, since, next_try, why } => {
                    (*failures, Some(*since), Some(*next_try), None, Some(why))
                }
                DeliveryStatus::Disabled { at, why } => (0, None, None, Some(*at), Some(why)),
            };
            let values = values![failures, since, next_try, disabled_at, why, id.0];
            Ok(tx.execute(&NOTE, values)? > 0)
        };
        self.write(note).await
    }
}

fn add(tx: &mut dyn Tx, new: &NewHook) -> Result<Hook, Failure> {
    tx.guard("hooks", 0)?;
    let count = tx.one(&COUNT, values![], |row| row.get::<u64>(0))?.unwrap_or(0);
    if count >= HOOKS_MAX as u64 {
        let full = "the board already has the maximum number of hooks; remove one first";
        return Err(Error::conflict(full).into());
    }
    let NewHook { channel, url, secret, cursor, created_at } = new.clone();
    let place = cursor.to_string();
    let added = tx.insert(
        &ADD,
        values![channel.as_str(), url.as_str(), secret.reveal(), created_at, &place],
    )?;
    let id = HookId(added.ok_or_else(|| Error::internal("the id of a new hook is taken"))?);
    Ok(Hook { id, channel, url, created_at, cursor, delivery: DeliveryStatus::Healthy })
}

fn read(row: Row<'_>) -> Result<(Hook, HookSecret), Failure> {
    let hook = Hook {
        id: HookId(row.get(0)?),
        channel: Slug::stored(row.get(1)?),
        url: HookUrl::stored(row.get(2)?),
        created_at: row.get(3)?,
        cursor: row.get::<String>(4)?.parse().map_err(Error::internal)?,
        delivery: delivery(row)?,
    };
    Ok((hook, HookSecret::stored(row.get(10)?)))
}

fn delivery(row: Row<'_>) -> Result<DeliveryStatus, Failure> {
    if let Some(at) = row.get(8)? {
        return Ok(DeliveryStatus::Disabled { at, why: row.get(9)? });
    }
    let Some(since) = row.get(6)? else { return Ok(DeliveryStatus::Healthy) };
    let (failures, next_try, why) = (row.get(5)?, row.get(7)?, row.get(9)?);
    Ok(DeliveryStatus::Failing { failures, since, next_try, why })
}
