//! The store of security events.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    security::{
        SecurityActor, SecurityEvent, SecurityEventKind, SecurityEventQuery, SecurityEventStore,
    },
};
use uuid::Uuid;

use crate::{
    App, Database, Failure, ReadKind, Row, Tx,
    statement::{pair, same, statements},
    tx::values,
};

/// How long security events are retained.
pub const SECURITY_EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Failures that are retained: any client can cause them.
pub const FAILURES_KEPT: usize = 50_000;

/// Other events that are retained.
pub const ACTS_KEPT: usize = 200_000;

macro_rules! list {
    ($which:literal) => {
        same(concat!(
            "SELECT id, at, last_at, repeats, kind, actor, account, origin, detail FROM security_events WHERE ",
            $which,
            "id < ? AND at >= ? AND (? = '' OR kind = ?) AND (? = '' OR origin = ?) ORDER BY id DESC LIMIT ?"
        ))
    };
}

statements! {
    STORE = pair(
        "INSERT INTO security_events \
            (id, at, last_at, repeats, kind, is_failure, actor, account, origin, detail) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE \
            SET last_at = max(last_at, excluded.last_at), repeats = max(repeats, excluded.repeats)",
        "INSERT INTO security_events \
            (id, at, last_at, repeats, kind, is_failure, actor, account, origin, detail) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE \
            last_at = GREATEST(last_at, VALUES(last_at)), repeats = GREATEST(repeats, VALUES(repeats))",
    );
    LIST = list!("");
    LIST_OF_KIND = list!("kind = ? AND ");
    LIST_OF_ORIGIN = list!("origin = ? AND ");
    LIST_OF_ACCOUNT = list!("(account = ? OR actor = ?) AND ");
    REMOVE_OLD = pair(
        "DELETE FROM security_events WHERE id IN \
            (SELECT id FROM security_events WHERE id <= ? ORDER BY id LIMIT ?)",
        "DELETE FROM security_events WHERE id <= ? ORDER BY id LIMIT ?",
    );
    /// The newest failure, or other event, that is not retained.
    SURPLUS = same("SELECT id FROM security_events WHERE is_failure = ? ORDER BY id DESC LIMIT 1 OFFSET ?");
    REMOVE_SURPLUS = pair(
        "DELETE FROM security_events WHERE id IN \
            (SELECT id FROM security_events WHERE is_failure = ? AND id <= ? ORDER BY id LIMIT ?)",
        "DELETE FROM security_events WHERE is_failure = ? AND id <= ? ORDER BY id LIMIT ?",
    );
}

/// The [`SecurityEventStore`] of a database.
pub struct SqlSecurityEvents(pub Arc<dyn Database>);

#[async_trait]
impl SecurityEventStore for SqlSecurityEvents {
    async fn append(&self, events: Vec<SecurityEvent>) -> Result<()> {
        let append = move |tx: &mut dyn Tx| events.iter().try_for_each(|event| store(tx, event));
        self.0.write(App::Accounts, append).await
    }

    async fn list(&self, query: SecurityEventQuery) -> Result<Vec<SecurityEvent>> {
        self.0.read(App::Accounts, ReadKind::Scan, move |tx| list(tx, &query)).await
    }
}

fn store(tx: &mut dyn Tx, event: &SecurityEvent) -> Result<(), Failure> {
    let SecurityEvent { id, at, last_at, repeats, kind, actor, account, origin, detail } = event;
    let values = values![
        id.as_bytes(),
        *at,
        *last_at,
        *repeats,
        kind.name(),
        kind.is_failure(),
        actor.to_number(),
        account.map(|account| account.0),
        origin,
        detail,
    ];
    tx.execute(&STORE, values).map(drop)
}

fn list(tx: &mut dyn Tx, query: &SecurityEventQuery) -> Result<Vec<SecurityEvent>, Failure> {
    let before = query.before.unwrap_or(Uuid::max());
    let since = query.since.unwrap_or(Timestamp::MIN);
    let kind = query.kind.map_or("", SecurityEventKind::name);
    let origin = query.origin.as_deref().unwrap_or_default();
    let before = before.as_bytes();
    let limit = query.limit;
    if let Some(AccountId(id)) = query.account {
        let values = values![id, id, before, since, kind, kind, origin, origin, limit];
        tx.all(&LIST_OF_ACCOUNT, values, read)
    } else if !origin.is_empty() {
        let values = values![origin, before, since, kind, kind, origin, origin, limit];
        tx.all(&LIST_OF_ORIGIN, values, read)
    } else if !kind.is_empty() {
        let values = values![kind, before, since, kind, kind, origin, origin, limit];
        tx.all(&LIST_OF_KIND, values, read)
    } else {
        tx.all(&LIST, values![before, since, kind, kind, origin, origin, limit], read)
    }
}

fn read(row: Row<'_>) -> Result<SecurityEvent, Failure> {
    let kind: String = row.get(4)?;
    let unknown = || Error::internal(format!("unknown kind of security event: {kind}"));
    let repeats: u64 = row.get(3)?;
    Ok(SecurityEvent {
        id: row.get(0)?,
        at: row.get(1)?,
        last_at: row.get(2)?,
        repeats: u32::try_from(repeats).unwrap_or(u32::MAX),
        kind: SecurityEventKind::named(&kind).ok_or_else(unknown)?,
        actor: SecurityActor::of_number(row.get(5)?),
        account: row.get::<Option<i64>>(6)?.map(AccountId),
        origin: row.get(7)?,
        detail: row.get(8)?,
    })
}

/// Removes a bounded number of events. Returns how many, and whether more may be left.
pub(crate) fn remove_expired(
    tx: &mut dyn Tx,
    now: Timestamp,
    limit: i64,
) -> Result<(u64, bool), Failure> {
    let until = now.saturating_sub(SECURITY_EVENTS_KEPT).unwrap_or(Timestamp::MIN);
    let until = last_id(until);
    let mut removed = tx.execute(&REMOVE_OLD, values![until.as_bytes(), limit])?;
    for (is_failure, kept) in [(true, FAILURES_KEPT), (false, ACTS_KEPT)] {
        let surplus = tx.one(&SURPLUS, values![is_failure, kept], |row| row.get::<Uuid>(0))?;
        if let Some(surplus) = surplus {
            removed +=
                tx.execute(&REMOVE_SURPLUS, values![is_failure, surplus.as_bytes(), limit])?;
        }
    }
    Ok((removed, removed >= limit.unsigned_abs()))
}

/// Returns the last id (version 7) of a millisecond.
fn last_id(at: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &[0xff; 10]).into_uuid()
}
