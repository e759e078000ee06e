//! The event log of accounts.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{AccountEvent, AccountEventKind, AccountId, Actor},
};

use super::feed;
use crate::{
    Failure, Row, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    NOTE = same("INSERT INTO account_events (account, at, kind, did) VALUES (?, ?, ?, ?)");
    /// The oldest event of an account that is retained.
    OLDEST_KEPT = same("SELECT row FROM account_events WHERE account = ? ORDER BY row DESC LIMIT 1 OFFSET ?");
    TRIM = same("DELETE FROM account_events WHERE account = ? AND row <= ?");
    LIST = same("SELECT account, at, kind, did FROM account_events WHERE account = ? ORDER BY row DESC LIMIT ?");
}

/// Events of one account that are retained; trimming is lazy, so there may be a few more.
pub const EVENTS_OF_ONE_KEPT: usize = 1_000;

/// One event in this many trims the events of its account: a prime, because each node of a Galera cluster numbers rows
/// in steps.
pub const EVENTS_TRIMMED_EVERY: usize = 61;

/// Records an event in this transaction, and appends it to the feed if cached sessions may be stale after it.
pub(super) fn record(tx: &mut dyn Tx, event: &AccountEvent) -> Result<(), Failure> {
    let AccountEvent { account, at, kind, by } = event;
    let row = tx.insert(&NOTE, values![account.0, *at, kind.name(), did(*by)])?;
    // Bounds the events of one account on disk.
    if row.is_some_and(|row| row.unsigned_abs() % EVENTS_TRIMMED_EVERY as u64 == 0) {
        let oldest =
            tx.one(&OLDEST_KEPT, values![account.0, EVENTS_OF_ONE_KEPT], |row| row.get::<i64>(0))?;
        if let Some(oldest) = oldest {
            tx.execute(&TRIM, values![account.0, oldest])?;
        }
    }
    if keeps_sessions_valid(*kind) { Ok(()) } else { feed::append(tx, *account, *at) }
}

/// Records an event that the owner of the account caused.
pub(super) fn record_by_owner(
    tx: &mut dyn Tx,
    account: AccountId,
    kind: AccountEventKind,
    at: Timestamp,
) -> Result<(), Failure> {
    record(tx, &AccountEvent { account, at, kind, by: Actor::Owner })
}

/// Whether an event leaves cached sessions valid.
fn keeps_sessions_valid(kind: AccountEventKind) -> bool {
    use AccountEventKind::{Linked, SignedIn, SignedInByProvider, SignedUp};
    matches!(kind, SignedUp | SignedIn | SignedInByProvider | Linked)
}

/// Returns the events of an account, newest first.
pub(super) fn of(
    tx: &mut dyn Tx,
    account: AccountId,
    limit: usize,
) -> Result<Vec<AccountEvent>, Failure> {
    tx.all(&LIST, values![account.0, limit], read)
}

fn read(row: Row<'_>) -> Result<AccountEvent, Failure> {
    let kind: String = row.get(2)?;
    let unknown = || Error::internal(format!("unknown kind of account event: {kind}"));
    Ok(AccountEvent {
        account: AccountId(row.get(0)?),
        at: row.get(1)?,
        kind: AccountEventKind::named(&kind).ok_or_else(unknown)?,
        by: row.get::<Option<i64>>(3)?.map_or(Actor::Owner, actor),
    })
}

/// The column `did` of an event that the operator caused; account numbers begin at 1.
const OPERATOR: i64 = 0;

fn did(actor: Actor) -> Option<i64> {
    match actor {
        Actor::Owner => None,
        Actor::Staff(account) => Some(account.0),
        Actor::Operator => Some(OPERATOR),
    }
}

fn actor(did: i64) -> Actor {
    if did == OPERATOR { Actor::Operator } else { Actor::Staff(AccountId(did)) }
}
