//! Retention in the account stores.

use jiff::SignedDuration;
use lodge_contract::{
    AccountsFixture,
    accounts::{event, fresh_name, made},
    samples::at,
    sessions::begun,
};
use lodge_domain::accounts::{
    AccountChange, AccountEventKind, Identity, NewAccount, NewTicket, Redeemed, TicketDigest,
};
use lodge_sql::{
    App,
    accounts::{EVENTS_KEPT, EVENTS_OF_ONE_KEPT, EVENTS_TRIMMED_EVERY, NAME_RESERVED, TICKETS_MAX},
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::open;
use crate::{Options, Sqlite};

fn opened() -> (Sqlite, TempDir) {
    let (engine, folder) = open(&Options::default());
    (Sqlite(engine), folder)
}

fn fixture(sqlite: &Sqlite) -> AccountsFixture {
    AccountsFixture {
        accounts: sqlite.accounts(),
        sessions: sqlite.sessions(),
        identities: sqlite.identities(),
        security_events: sqlite.security_events(),
    }
}

#[tokio::test]
async fn expired_rows_are_removed() {
    let (sqlite, _folder) = opened();
    let fixture = fixture(&sqlite);
    let accounts = &fixture.accounts;
    let (stays, goes) = (fresh_name(), fresh_name());
    let (stays, gone) = (made(&**accounts, &stays).await, made(&**accounts, &goes).await);
    begun(&fixture, &stays).await;
    accounts.remove(event(gone.id, AccountEventKind::Deleted, 1)).await.unwrap().unwrap();
    let tidy = |now| sqlite.remove_expired(now, SignedDuration::from_hours(1));
    assert_eq!(tidy(at(3599)).await.unwrap().accounts, 0);
    assert_eq!(tidy(at(3600)).await.unwrap().accounts, 1, "the session");
    assert_eq!(tidy(at(1) + NAME_RESERVED).await.unwrap().accounts, 1, "the name");
    let again = made(&**accounts, &goes).await;
    assert_ne!(again.id, gone.id, "the new account shares nothing with the former one");
    assert_eq!(tidy(at(1) + EVENTS_KEPT).await.unwrap().accounts, 6, "the events");
    assert!(accounts.get(stays.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_revocation_reaches_the_feed_however_many_events_the_account_has() {
    let (sqlite, _folder) = opened();
    let fixture = fixture(&sqlite);
    let (accounts, sessions) = (&fixture.accounts, &fixture.sessions);
    let ada = made(&**accounts, &fresh_name()).await;
    let place = sessions.changed_since(None).await.unwrap().place;
    let change = AccountChange::default();
    accounts.change(change, event(ada.id, AccountEventKind::SignedOutEverywhere, 0)).await.unwrap();
    let note = move |connection: &Connection| {
        let sql = "INSERT INTO account_events (account, at, kind) VALUES (?1, 0, 'signed_in')";
        for _ in 0..2 * EVENTS_OF_ONE_KEPT {
            connection.prepare_cached(sql)?.execute([ada.id.0])?;
        }
        Ok(())
    };
    sqlite.0.writer.write(App::Accounts, note).await.unwrap();
    // One of these events trims those of the account.
    for _ in 0..EVENTS_TRIMMED_EVERY {
        begun(&fixture, &ada).await;
    }
    let kept = accounts.events(ada.id, 10_000).await.unwrap().len();
    assert!((EVENTS_OF_ONE_KEPT..EVENTS_OF_ONE_KEPT + EVENTS_TRIMMED_EVERY).contains(&kept));
    let told = sessions.changed_since(Some(place)).await.unwrap();
    assert_eq!(told.accounts, [ada.id]);
}

#[tokio::test]
async fn a_feed_reader_whose_entries_were_removed_begins_anew() {
    let (sqlite, _folder) = opened();
    let fixture = fixture(&sqlite);
    let (accounts, sessions) = (&fixture.accounts, &fixture.sessions);
    let ada = made(&**accounts, &fresh_name()).await;
    let place = sessions.changed_since(None).await.unwrap().place;
    let end_all = |seconds| {
        let event = event(ada.id, AccountEventKind::SignedOutEverywhere, seconds);
        accounts.change(AccountChange::default(), event)
    };
    end_all(0).await.unwrap();
    let first = sessions.changed_since(Some(place)).await.unwrap();
    assert!(!first.begins_anew && first.accounts == [ada.id]);
    sqlite.remove_expired(at(0) + EVENTS_KEPT, SignedDuration::from_hours(1)).await.unwrap();
    assert!(sessions.changed_since(Some(place)).await.unwrap().begins_anew, "all is removed");
    assert!(!sessions.changed_since(Some(first.place)).await.unwrap().begins_anew);
    end_all(1).await.unwrap();
    assert!(sessions.changed_since(Some(place)).await.unwrap().begins_anew, "one is removed");
    assert_eq!(sessions.changed_since(Some(first.place)).await.unwrap().accounts, [ada.id]);
}

/// A ticket for an identity that expires at 900 seconds.
fn ticket(subject: &str) -> NewTicket {
    let identity = Identity::new("https://id.example.org".to_owned(), subject.to_owned());
    let digest = TicketDigest::of(subject);
    NewTicket { digest, identity: identity.unwrap(), expires_at: at(900) }
}

fn without_password() -> NewAccount {
    let account = lodge_contract::accounts::new(&fresh_name());
    NewAccount { password: None, created_at: at(1), ..account }
}

#[tokio::test]
async fn only_the_last_tickets_are_kept() {
    let (sqlite, _folder) = opened();
    let store = sqlite.identities();
    for subject in ["first", "second"] {
        store.issue(ticket(subject)).await.unwrap();
    }
    // As if so many tickets had been issued meanwhile that one of the two is dropped.
    let come = "UPDATE sqlite_sequence SET seq = seq + ?1 WHERE name = 'tickets'";
    let come =
        move |connection: &Connection| Ok(connection.prepare(come)?.execute([TICKETS_MAX - 2])?);
    assert_eq!(sqlite.0.writer.write(App::Accounts, come).await.unwrap(), 1);
    store.issue(ticket("last")).await.unwrap();
    let redeem = |subject| store.redeem(TicketDigest::of(subject), without_password());
    assert_eq!(redeem("first").await.unwrap(), Redeemed::NoTicket);
    for subject in ["second", "last"] {
        assert!(matches!(redeem(subject).await.unwrap(), Redeemed::Made(_)), "{subject}");
    }
}

#[tokio::test]
async fn an_expired_ticket_is_removed() {
    let (sqlite, _folder) = opened();
    sqlite.identities().issue(ticket("late")).await.unwrap();
    let tidied = |now| sqlite.remove_expired(now, SignedDuration::from_hours(1));
    assert_eq!(tidied(at(899)).await.unwrap().accounts, 0);
    assert_eq!(tidied(at(900)).await.unwrap().accounts, 1);
}
