//! What happened to accounts.

use jiff::Timestamp;
use lodge_domain::accounts::{AccountId, Actor, Changed, Event, EventKind, FeedPlace};
use rusqlite::{Connection, Result, Row, types::Type};
use uuid::Uuid;

use super::row::instant;
use crate::failure::Failure;

const NOTE: &str = "INSERT INTO account_events (account, at, kind, did) VALUES (?1, ?2, ?3, ?4)";
/// What is older than the events of an account that are kept.
const TRIM: &str = "DELETE FROM account_events WHERE account = ?1 AND at < ?3 AND row <= \
    (SELECT row FROM account_events WHERE account = ?1 ORDER BY row DESC LIMIT 1 OFFSET ?2)";
/// Events of one account that are kept, about.
const KEPT: i64 = 1_000;
/// For how long all of them are: this table is the feed, too, and nobody who reads it remembers anything for
/// longer than a minute.
const KEPT_FOR_MS: i64 = 120_000;
const TRIMMED_EVERY: i64 = 64;
const LATEST: &str = "SELECT coalesce(max(row), 0) FROM account_events";
const SINCE: &str =
    "SELECT row, account, kind FROM account_events WHERE row > ?1 ORDER BY row LIMIT ?2";
const LIST: &str = "SELECT account, at, kind, did FROM account_events WHERE account = ?1 \
    ORDER BY row DESC LIMIT ?2";

/// Every statement of the events.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 5] = [NOTE, TRIM, LATEST, SINCE, LIST];

/// Notes what happens in this very transaction.
pub(crate) fn note(connection: &Connection, event: &Event) -> Result<()> {
    let Event { account, at, kind, by } = event;
    let values = (account.0, at.as_millisecond(), kind.name(), did(*by));
    connection.prepare_cached(NOTE)?.execute(values)?;
    // Now and then, so that nobody fills the disk with what happens to them.
    if connection.last_insert_rowid() % TRIMMED_EVERY == 0 {
        let before = at.as_millisecond() - KEPT_FOR_MS;
        connection.prepare_cached(TRIM)?.execute((account.0, KEPT, before))?;
    }
    Ok(())
}

/// The owner's own doing.
pub(crate) fn note_own(
    connection: &Connection,
    account: AccountId,
    kind: EventKind,
    at: Timestamp,
) -> Result<()> {
    note(connection, &Event { account, at, kind, by: Actor::Owner })
}

/// Events that one look at the feed reads.
const A_LOOK: i64 = 1_000;

/// The accounts to which something has happened since; the one writer numbers events in the order in which
/// they are committed.
pub(crate) fn changed_since(
    connection: &Connection,
    feed: Uuid,
    place: Option<FeedPlace>,
) -> Result<Changed, Failure> {
    let Some(FeedPlace { feed: asked, at: mut place }) = place else {
        return Ok(from_now_on(feed, latest(connection)?, false));
    };
    if asked != feed {
        return Ok(from_now_on(feed, latest(connection)?, true));
    }
    let (mut accounts, mut read) = (Vec::new(), 0);
    let mut statement = connection.prepare_cached(SINCE)?;
    let mut rows = statement.query((place, A_LOOK))?;
    while let Some(row) = rows.next()? {
        let kind: String = row.get(2)?;
        (place, read) = (row.get(0)?, read + 1);
        // What begins changes nothing that is remembered.
        if !EventKind::named(&kind).is_some_and(begins) {
            accounts.push(AccountId(row.get(1)?));
        }
    }
    if read == 0 {
        let latest = latest(connection)?;
        if place > latest {
            return Ok(from_now_on(feed, latest, true));
        }
    }
    let place = FeedPlace { feed, at: place };
    Ok(Changed { accounts, place, more: read == A_LOOK, begins_anew: false })
}

fn latest(connection: &Connection) -> Result<i64> {
    connection.prepare_cached(LATEST)?.query_row([], |row| row.get(0))
}

fn from_now_on(feed: Uuid, at: i64, begins_anew: bool) -> Changed {
    let place = FeedPlace { feed, at };
    Changed { accounts: Vec::new(), place, more: false, begins_anew }
}

/// Whether it leaves everything as it was that is remembered of a session.
fn begins(kind: EventKind) -> bool {
    use EventKind::{Linked, SignedIn, SignedInByProvider, SignedUp};
    matches!(kind, SignedUp | SignedIn | SignedInByProvider | Linked)
}

/// What happened to an account, newest first.
pub(crate) fn of(
    connection: &Connection,
    account: AccountId,
    limit: usize,
) -> Result<Vec<Event>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(LIST)?;
    let events = statement.query_map((account.0, limit), read)?;
    Ok(events.collect::<Result<_>>()?)
}

fn read(row: &Row<'_>) -> Result<Event> {
    let kind: String = row.get(2)?;
    let unknown =
        || rusqlite::Error::FromSqlConversionFailure(2, Type::Text, "no such event".into());
    Ok(Event {
        account: AccountId(row.get(0)?),
        at: instant(1, row.get(1)?)?,
        kind: EventKind::named(&kind).ok_or_else(unknown)?,
        by: row.get::<_, Option<i64>>(3)?.map_or(Actor::Owner, actor),
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

#[cfg(test)]
mod tests {
    use lodge_contract::accounts::event;

    use super::*;
    use crate::migrations;

    const ADA: AccountId = AccountId(1);

    fn sign_in(connection: &Connection, seconds: i64) {
        note(connection, &event(ADA, EventKind::SignedIn, seconds)).unwrap();
    }

    #[test]
    fn a_revocation_is_told_however_much_happens_to_the_same_account() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::run(&mut connection).unwrap();
        let feed = Uuid::nil();
        let place = changed_since(&connection, feed, None).unwrap().place;
        note(&connection, &event(ADA, EventKind::Banned, 0)).unwrap();
        for number in 0..2 * KEPT {
            sign_in(&connection, number / 20);
        }
        let told = changed_since(&connection, feed, Some(place)).unwrap();
        assert_eq!(told.accounts, [ADA]);
        // Whoever heard nothing for so long remembers nothing either.
        for _ in 0..TRIMMED_EVERY {
            sign_in(&connection, 300);
        }
        let kept = of(&connection, ADA, 10_000).unwrap().len();
        assert!((KEPT..KEPT + TRIMMED_EVERY).contains(&i64::try_from(kept).unwrap()), "{kept}");
        assert_eq!(changed_since(&connection, feed, Some(place)).unwrap().accounts, []);
    }
}
