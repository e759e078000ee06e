//! Which identities open which accounts, and tickets.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    accounts::{
        Account, AccountId, Ending, Event, EventKind, Identity, IdentityStore, Linked,
        LinkedIdentity, NewAccount, NewTicket, Redeemed, SessionId, TicketDigest, Unlink, Unlinked,
    },
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    change, events, get, metered,
    row::{COLUMNS, instant, read},
    sessions,
};
use crate::{engine::Engine, failure::Failure};

/// Tickets that are kept.
const TICKETS_MAX: i64 = 10_000;

static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM identities i JOIN accounts a ON a.id = i.account \
         WHERE i.issuer = ?1 AND i.subject = ?2 AND a.deleted_at IS NULL"
    )
});
const LIST: &str =
    "SELECT issuer, subject, linked_at FROM identities WHERE account = ?1 ORDER BY issuer";
const OWNER: &str = "SELECT account FROM identities WHERE issuer = ?1 AND subject = ?2";
const HAS_ONE: &str = "SELECT 1 FROM identities WHERE account = ?1 AND issuer = ?2";
const ADD: &str =
    "INSERT INTO identities (issuer, subject, account, linked_at) VALUES (?1, ?2, ?3, ?4)";
const REMOVE: &str = "DELETE FROM identities WHERE account = ?1 AND issuer = ?2";
const ISSUE: &str =
    "INSERT OR REPLACE INTO tickets (digest, issuer, subject, expires_at) VALUES (?1, ?2, ?3, ?4)";
const DROP_OLDEST: &str = "DELETE FROM tickets WHERE row <= ?1";
const TICKET: &str = "SELECT issuer, subject FROM tickets WHERE digest = ?1 AND expires_at > ?2";
const USE_UP: &str = "DELETE FROM tickets WHERE digest = ?1";

/// Every statement of the identities.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    let texts = [LIST, OWNER, HAS_ONE, ADD, REMOVE];
    let texts = texts.into_iter().chain([ISSUE, DROP_OLDEST, TICKET, USE_UP]);
    texts.map(str::to_owned).chain([FIND.clone()]).collect()
}

/// Identities in the database.
pub(crate) struct SqliteIdentities(pub(crate) Arc<Engine>);

#[async_trait]
impl IdentityStore for SqliteIdentities {
    async fn find(&self, identity: &Identity) -> Result<Option<Account>> {
        let identity = identity.clone();
        metered::read(&self.0, move |connection| find(connection, &identity)).await
    }

    async fn list(&self, account: AccountId) -> Result<Vec<LinkedIdentity>> {
        metered::read(&self.0, move |connection| list(connection, account)).await
    }

    async fn link(&self, identity: Identity, session: SessionId, event: Event) -> Result<Linked> {
        let work = move |connection: &Connection| link(connection, &identity, session, &event);
        metered::write(&self.0, work).await
    }

    async fn unlink(&self, wish: Unlink, event: Event) -> Result<Unlinked> {
        let work = move |connection: &Connection| unlink(connection, &wish, &event);
        metered::write(&self.0, work).await
    }

    async fn issue(&self, ticket: NewTicket) -> Result<()> {
        metered::write(&self.0, move |connection| issue(connection, &ticket)).await
    }

    async fn redeem(&self, ticket: TicketDigest, account: NewAccount) -> Result<Redeemed> {
        let work = move |connection: &Connection| redeem(connection, ticket, &account);
        metered::write(&self.0, work).await
    }
}

fn find(connection: &Connection, identity: &Identity) -> Result<Option<Account>, Failure> {
    let by = (&identity.issuer, &identity.subject);
    Ok(connection.prepare_cached(&FIND)?.query_row(by, |row| read(row, 0)).optional()?)
}

fn list(connection: &Connection, account: AccountId) -> Result<Vec<LinkedIdentity>, Failure> {
    let mut statement = connection.prepare_cached(LIST)?;
    let identities = statement.query_map([account.0], |row| {
        Ok(LinkedIdentity {
            identity: Identity { issuer: row.get(0)?, subject: row.get(1)? },
            linked_at: instant(2, row.get(2)?)?,
        })
    })?;
    Ok(identities.collect::<rusqlite::Result<_>>()?)
}

fn link(
    connection: &Connection,
    identity: &Identity,
    session: SessionId,
    event: &Event,
) -> Result<Linked, Failure> {
    let account = event.account;
    if !sessions::is_live(connection, account, session, event.at)? {
        return Ok(Linked::NoSession);
    }
    match owner(connection, identity)? {
        Some(owner) if owner == account => return Ok(Linked::Done),
        Some(_) => return Ok(Linked::Elsewhere),
        None => {}
    }
    if connection.prepare_cached(HAS_ONE)?.exists((account.0, &identity.issuer))? {
        return Ok(Linked::Another);
    }
    add(connection, identity, account, event.at)?;
    events::note(connection, event)?;
    Ok(Linked::Done)
}

fn unlink(connection: &Connection, wish: &Unlink, event: &Event) -> Result<Unlinked, Failure> {
    let Unlink { issuer, kept, issuers } = wish;
    let Some(account) = get(connection, event.account)? else { return Ok(Unlinked::NotLinked) };
    let linked = list(connection, account.id)?;
    let mut linked = linked.iter().map(|linked| &linked.identity.issuer);
    if !linked.clone().any(|linked| linked == issuer) {
        return Ok(Unlinked::NotLinked);
    }
    let stays_open = |other: &String| other != issuer && issuers.contains(other);
    if !account.has_password && !linked.any(stays_open) {
        return Ok(Unlinked::OnlyWay);
    }
    connection.prepare_cached(REMOVE)?.execute((account.id.0, issuer))?;
    change::end(connection, account.id, Ending::AllBut(*kept), account.epoch)?;
    events::note(connection, event)?;
    Ok(Unlinked::Done)
}

fn issue(connection: &Connection, ticket: &NewTicket) -> Result<(), Failure> {
    let NewTicket { digest, identity, expires_at } = ticket;
    connection.prepare_cached(ISSUE)?.execute((
        digest.0,
        &identity.issuer,
        &identity.subject,
        expires_at.as_millisecond(),
    ))?;
    let oldest = connection.last_insert_rowid() - TICKETS_MAX;
    connection.prepare_cached(DROP_OLDEST)?.execute([oldest])?;
    Ok(())
}

fn redeem(
    connection: &Connection,
    ticket: TicketDigest,
    new: &NewAccount,
) -> Result<Redeemed, Failure> {
    let by = (ticket.0, new.created_at.as_millisecond());
    let read = |row: &rusqlite::Row<'_>| Ok(Identity { issuer: row.get(0)?, subject: row.get(1)? });
    let found = connection.prepare_cached(TICKET)?.query_row(by, read).optional()?;
    let Some(identity) = found else { return Ok(Redeemed::NoTicket) };
    if owner(connection, &identity)?.is_some() {
        return Ok(Redeemed::Known);
    }
    let Some(account) = change::add(connection, new)? else { return Ok(Redeemed::Taken) };
    add(connection, &identity, account.id, new.created_at)?;
    connection.prepare_cached(USE_UP)?.execute([ticket.0])?;
    events::note_own(connection, account.id, EventKind::Linked, new.created_at)?;
    Ok(Redeemed::Made(account))
}

fn owner(connection: &Connection, identity: &Identity) -> rusqlite::Result<Option<AccountId>> {
    let by = (&identity.issuer, &identity.subject);
    connection.prepare_cached(OWNER)?.query_row(by, |row| row.get(0).map(AccountId)).optional()
}

fn add(
    connection: &Connection,
    identity: &Identity,
    account: AccountId,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let values = (&identity.issuer, &identity.subject, account.0, at.as_millisecond());
    connection.prepare_cached(ADD)?.execute(values).map(drop)
}

#[cfg(test)]
mod tests {
    use lodge_contract::{accounts::fresh_name, samples::at};

    use super::*;
    use crate::{Options, Sqlite, tests::open, writer::App};

    /// A ticket for somebody, until 900 seconds.
    fn ticket(subject: &str) -> NewTicket {
        let identity = Identity::new("https://id.example.org".to_owned(), subject.to_owned());
        let digest = TicketDigest::of(subject);
        NewTicket { digest, identity: identity.unwrap(), expires_at: at(900) }
    }

    fn newcomer() -> NewAccount {
        let account = lodge_contract::accounts::new(&fresh_name());
        NewAccount { password: None, created_at: at(1), ..account }
    }

    #[tokio::test]
    async fn only_the_last_newcomers_tickets_are_kept() {
        let (engine, _folder) = open(&Options::default());
        let embedded = Sqlite(Arc::clone(&engine));
        let store = embedded.identities();
        for subject in ["first", "second"] {
            store.issue(ticket(subject)).await.unwrap();
        }
        // As if as many had come meanwhile as leave room for one of the two.
        let come = "UPDATE sqlite_sequence SET seq = seq + ?1 WHERE name = 'tickets'";
        let come = move |connection: &Connection| {
            Ok(connection.prepare(come)?.execute([TICKETS_MAX - 2])?)
        };
        assert_eq!(engine.writer.write(App::Accounts, come).await.unwrap(), 1);
        store.issue(ticket("last")).await.unwrap();
        let redeem = |subject| store.redeem(TicketDigest::of(subject), newcomer());
        assert_eq!(redeem("first").await.unwrap(), Redeemed::NoTicket);
        for subject in ["second", "last"] {
            assert!(matches!(redeem(subject).await.unwrap(), Redeemed::Made(_)), "{subject}");
        }
    }

    #[tokio::test]
    async fn a_ticket_that_is_past_its_time_goes() {
        let (engine, _folder) = open(&Options::default());
        let embedded = Sqlite(engine);
        embedded.identities().issue(ticket("late")).await.unwrap();
        let tidied = |now| embedded.tidy(now, jiff::SignedDuration::from_hours(1));
        assert_eq!(tidied(at(899)).await.unwrap().accounts, 0);
        assert_eq!(tidied(at(900)).await.unwrap().accounts, 1);
    }
}
