//! What happened to accounts.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{AccountId, Actor, Event, EventKind},
};

use super::feed;
use crate::{
    Failure, Row, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    NOTE = same("INSERT INTO account_events (account, at, kind, did) VALUES (?, ?, ?, ?)");
    /// The oldest of the events of an account that are kept.
    OLDEST_KEPT = same("SELECT row FROM account_events WHERE account = ? ORDER BY row DESC LIMIT 1 OFFSET ?");
    TRIM = same("DELETE FROM account_events WHERE account = ? AND row <= ?");
    LIST = same("SELECT account, at, kind, did FROM account_events WHERE account = ? ORDER BY row DESC LIMIT ?");
}

/// Events of one account that are kept, and a few more.
pub const EVENTS_OF_ONE_KEPT: usize = 1_000;

/// Of how many events one trims those of its account.
pub const EVENTS_TRIMMED_EVERY: usize = 64;

/// Notes what happens in this very transaction, and tells the feed of it.
pub(super) fn note(tx: &mut dyn Tx, event: &Event) -> Result<(), Failure> {
    let Event { account, at, kind, by } = event;
    let row = tx.insert(&NOTE, values![account.0, *at, kind.name(), did(*by)])?;
    // Now and then, so that the events of one account do not fill the disk.
    if row.is_some_and(|row| row.unsigned_abs() % EVENTS_TRIMMED_EVERY as u64 == 0) {
        let oldest =
            tx.one(&OLDEST_KEPT, values![account.0, EVENTS_OF_ONE_KEPT], |row| row.get::<i64>(0))?;
        if let Some(oldest) = oldest {
            tx.execute(&TRIM, values![account.0, oldest])?;
        }
    }
    if begins(*kind) { Ok(()) } else { feed::tell(tx, *account, *at) }
}

/// The owner's own doing.
pub(super) fn note_own(
    tx: &mut dyn Tx,
    account: AccountId,
    kind: EventKind,
    at: Timestamp,
) -> Result<(), Failure> {
    note(tx, &Event { account, at, kind, by: Actor::Owner })
}

/// Whether it leaves everything as it was that is remembered of a session.
fn begins(kind: EventKind) -> bool {
    use EventKind::{Linked, SignedIn, SignedInByProvider, SignedUp};
    matches!(kind, SignedUp | SignedIn | SignedInByProvider | Linked)
}

/// What happened to an account, newest first.
pub(super) fn of(tx: &mut dyn Tx, account: AccountId, limit: usize) -> Result<Vec<Event>, Failure> {
    tx.all(&LIST, values![account.0, limit], read)
}

fn read(row: Row<'_>) -> Result<Event, Failure> {
    let kind: String = row.get(2)?;
    let unknown = || Error::internal(format!("{kind} is no kind of event"));
    Ok(Event {
        account: AccountId(row.get(0)?),
        at: row.get(1)?,
        kind: EventKind::named(&kind).ok_or_else(unknown)?,
        by: row.get::<Option<i64>>(3)?.map_or(Actor::Owner, actor),
    })
}

/// Numbers of accounts begin at 1.
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
