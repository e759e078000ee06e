//! Sessions.

use std::sync::Arc;

use jiff::Timestamp;
use lodge_domain::accounts::{
    Account, AccountChange, AccountEventKind, AccountId, EndSessions, FeedPosition, NewSession,
    Session, SessionDigest, SessionId, SignedIn,
};
use uuid::Uuid;

use crate::{
    AccountsFixture,
    accounts::{changed, event},
    samples::{at, at_once},
};

/// All accounts in the change feed from a position on, and the position to continue from.
async fn told_since(
    fixture: &AccountsFixture,
    mut place: FeedPosition,
) -> (Vec<AccountId>, FeedPosition) {
    let mut told = Vec::new();
    loop {
        let changed = fixture.sessions.changed_since(Some(place)).await.unwrap();
        told.extend(changed.accounts);
        place = changed.place;
        if !changed.more {
            return (told, place);
        }
    }
}

/// A session that expires after an hour, with the digest of its token.
fn new(account: &Account) -> NewSession {
    let id = SessionId(Uuid::now_v7());
    let session = Session {
        id,
        account: account.id,
        created_at: at(0),
        expires_at: at(3600),
        agent: "a test".to_owned(),
        authenticated_at: Some(at(-60)),
    };
    let digest = SessionDigest::of(&id.0.to_string());
    NewSession { session, digest, epoch: account.epoch, kind: AccountEventKind::SignedIn }
}

/// Begins a session, which must succeed.
pub async fn begun(fixture: &AccountsFixture, account: &Account) -> NewSession {
    let session = new(account);
    assert!(fixture.sessions.begin(session.clone()).await.unwrap());
    session
}

/// Whether the session is valid at `now`.
pub(crate) async fn opens(fixture: &AccountsFixture, session: &NewSession, now: Timestamp) -> bool {
    fixture.sessions.find(session.digest, now).await.unwrap().is_some()
}

/// By number, from one on, and only while they have a valid session.
pub async fn accounts_with_sessions_are_listed(fixture: &AccountsFixture) {
    const ALL: usize = 100_000;
    let mut accounts = Vec::new();
    for _ in 0..4 {
        accounts.push(fixture.sign_up().await);
    }
    let ids: Vec<_> = accounts.iter().map(|account| account.id).collect();
    let listed_at = async |after: AccountId, now, limit| {
        let mut listed = fixture.sessions.accounts(after, now, limit).await.unwrap();
        listed.retain(|id| ids.contains(id));
        listed
    };
    let listed = async |after, limit| listed_at(after, at(1), limit).await;
    let before = AccountId(ids[0].0 - 1);
    assert_eq!(listed(before, ALL).await, []);
    for account in &accounts[..3] {
        begun(fixture, account).await;
        begun(fixture, account).await;
    }
    assert_eq!(listed(before, ALL).await, ids[..3]);
    assert_eq!(listed(before, 1).await, ids[..1]);
    assert_eq!(listed(ids[0], ALL).await, ids[1..3]);
    assert_eq!(listed_at(before, at(3600), ALL).await, []);
    let ended = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
    let kind = AccountEventKind::SignedOutEverywhere;
    changed(&*fixture.accounts, ids[0], kind, ended).await;
    assert_eq!(listed(before, ALL).await, ids[1..3]);
}

/// It is never brought forward, and a session that has ended stays so.
pub async fn the_expiry_of_a_session_is_only_put_off(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let [one, other] = [begun(fixture, &account).await, begun(fixture, &account).await];
    for (expires_at, opens_at) in [(7200, 7199), (60, 7199), (9000, 8999)] {
        fixture.sessions.extend(one.digest, at(expires_at)).await.unwrap();
        assert!(opens(fixture, &one, at(opens_at)).await, "{expires_at}");
    }
    assert!(!opens(fixture, &one, at(9000)).await);
    assert!(!opens(fixture, &other, at(3600)).await, "another session");
    assert!(fixture.sessions.end(account.id, one.session.id, at(1)).await.unwrap());
    fixture.sessions.extend(one.digest, at(9000)).await.unwrap();
    assert!(!opens(fixture, &one, at(2)).await);
}

/// The former token is invalid at once, and processes that cached the session learn of it.
pub async fn a_session_goes_on_with_another_token(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let [one, other] = [begun(fixture, &account).await, begun(fixture, &account).await];
    let place = fixture.sessions.changed_since(None).await.unwrap().place;
    let digest = SessionDigest::of("the new token of this test");
    let replace = async |account: &Account, from, to| {
        fixture.sessions.replace_token(account.id, from, to, at(1)).await.unwrap()
    };
    assert!(replace(&account, one.digest, digest).await);
    assert!(!opens(fixture, &one, at(2)).await);
    assert!(opens(fixture, &other, at(2)).await, "another session");
    let found = fixture.sessions.find(digest, at(2)).await.unwrap();
    assert_eq!(found.map(|me| me.session), Some(one.session.clone()));
    assert!(told_since(fixture, place).await.0.contains(&account.id));

    let (of_another, unused) = (fixture.sign_up().await, SessionDigest::of("no token"));
    assert!(!replace(&account, one.digest, unused).await, "the former token");
    assert!(!replace(&of_another, digest, unused).await);
    assert!(fixture.sessions.end(account.id, one.session.id, at(3)).await.unwrap());
    assert!(!replace(&account, digest, unused).await);
}

/// A change by a session that was ended meanwhile is refused.
pub async fn a_session_that_has_ended_changes_nothing(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let of_another = fixture.sign_up().await;
    let of_another = begun(fixture, &of_another).await.session.id;
    let [ends, stays] = [begun(fixture, &account).await, begun(fixture, &account).await];
    let [ends, stays] = [ends.session.id, stays.session.id];
    let change = async |session, seconds| {
        let ending = Some(EndSessions::AllBut(session));
        let change =
            AccountChange { ending, by_session: Some(session), ..AccountChange::default() };
        let event = event(account.id, AccountEventKind::PasswordChanged, seconds);
        fixture.accounts.change(change, event).await.unwrap().is_some()
    };
    assert!(fixture.sessions.end(account.id, ends, at(1)).await.unwrap());
    for (session, seconds) in [(ends, 1), (of_another, 1), (stays, 3600)] {
        assert!(!change(session, seconds).await, "at {seconds}");
    }
    assert!(change(stays, 3599).await);
}

/// The token identifies its account until it expires.
pub async fn a_session_is_found_by_its_token_until_it_expires(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let new = begun(fixture, &account).await;
    let expected = SignedIn { session: new.session.clone(), account };
    let found = fixture.sessions.find(new.digest, at(3599)).await.unwrap();
    assert_eq!(found, Some(expected));
    assert!(!opens(fixture, &new, at(3600)).await);
    assert_eq!(fixture.sessions.find(SessionDigest::of("other"), at(1)).await.unwrap(), None);
}

/// Newest first, for one account.
pub async fn the_sessions_of_an_account_are_listed(fixture: &AccountsFixture) {
    let (account, other) = (fixture.sign_up().await, fixture.sign_up().await);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.insert(0, begun(fixture, &account).await.session);
    }
    begun(fixture, &other).await;
    let list = |now, limit| fixture.sessions.list(account.id, now, limit);
    assert_eq!(list(at(1), 10).await.unwrap(), sessions);
    assert_eq!(list(at(1), 2).await.unwrap(), sessions[..2]);
    assert_eq!(list(at(3600), 10).await.unwrap(), []);
}

/// Only by its own account, and once.
pub async fn one_session_is_ended(fixture: &AccountsFixture) {
    let (account, other) = (fixture.sign_up().await, fixture.sign_up().await);
    let (ended, stays) = (begun(fixture, &account).await, begun(fixture, &account).await);
    let end = |account, session| fixture.sessions.end(account, session, at(5));
    assert!(!end(other.id, ended.session.id).await.unwrap());
    assert!(opens(fixture, &ended, at(5)).await);
    assert!(end(account.id, ended.session.id).await.unwrap());
    assert!(!end(account.id, ended.session.id).await.unwrap());
    assert!(!opens(fixture, &ended, at(5)).await);
    assert!(opens(fixture, &stays, at(5)).await);
    let last = fixture.accounts.events(account.id, 1).await.unwrap();
    assert_eq!(last, [event(account.id, AccountEventKind::SignedOut, 5)]);
}

/// All sessions, or all but one.
pub async fn a_change_can_end_all_sessions(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let (first, second) = (begun(fixture, &account).await, begun(fixture, &account).await);
    let ending = |ending| AccountChange { ending: Some(ending), ..AccountChange::default() };
    let but_first = ending(EndSessions::AllBut(first.session.id));
    let now =
        changed(&*fixture.accounts, account.id, AccountEventKind::PasswordChanged, but_first).await;
    assert_eq!(
        (opens(fixture, &first, at(1)).await, opens(fixture, &second, at(1)).await),
        (true, false)
    );
    let third = begun(fixture, &now).await;
    let everywhere = ending(EndSessions::All);
    changed(&*fixture.accounts, account.id, AccountEventKind::SignedOutEverywhere, everywhere)
        .await;
    for session in [first, second, third] {
        assert!(!opens(fixture, &session, at(1)).await);
    }
    assert_eq!(fixture.sessions.list(account.id, at(1), 10).await.unwrap(), []);
}

/// A sign-in that was verified before a password change, a ban or a deletion begins no session.
pub async fn no_session_begins_on_outdated_credentials(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let account = fixture.sign_up().await;
    let ended = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
    let now = changed(store, account.id, AccountEventKind::PasswordChanged, ended.clone()).await;
    assert!(!fixture.sessions.begin(new(&account)).await.unwrap());
    assert!(fixture.sessions.begin(new(&now)).await.unwrap());
    let at_epoch = AccountChange { at_epoch: Some(account.epoch), ..ended };
    let stale = event(account.id, AccountEventKind::PasswordChanged, 2);
    assert_eq!(store.change(at_epoch, stale).await.unwrap(), None);

    let ban = AccountChange { banned_at: Some(Some(at(3))), ..AccountChange::default() };
    let banned = changed(store, account.id, AccountEventKind::Banned, ban).await;
    assert!(!fixture.sessions.begin(new(&banned)).await.unwrap());

    let gone = fixture.sign_up().await;
    let session = begun(fixture, &gone).await;
    store.remove(event(gone.id, AccountEventKind::Deleted, 4)).await.unwrap().unwrap();
    assert!(!opens(fixture, &session, at(5)).await);
    assert!(!fixture.sessions.begin(new(&gone)).await.unwrap());
}

/// Further sign-ins end the oldest session.
pub async fn an_account_has_a_hundred_sessions_at_most(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let first = begun(fixture, &account).await;
    let before = fixture.sessions.changed_since(None).await.unwrap().place;
    for _ in 0..100 {
        begun(fixture, &account).await;
    }
    let told = fixture.sessions.changed_since(Some(before)).await.unwrap();
    assert!(told.accounts.contains(&account.id), "the ended session may be cached");
    assert!(!opens(fixture, &first, at(1)).await);
    assert_eq!(fixture.sessions.list(account.id, at(1), 1000).await.unwrap().len(), 100);
}

/// Before it is acknowledged, from a position on, at least once.
pub async fn every_end_of_a_session_is_in_the_feed(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let start = fixture.sessions.changed_since(None).await.unwrap();
    assert_eq!((start.accounts, start.more), (Vec::new(), false));
    let mut accounts = Vec::new();
    for _ in 0..4 {
        accounts.push(fixture.sign_up().await);
    }
    let session = begun(fixture, &accounts[0]).await;
    assert!(fixture.sessions.end(accounts[0].id, session.session.id, at(1)).await.unwrap());
    let ban = AccountChange {
        banned_at: Some(Some(at(2))),
        ending: Some(EndSessions::All),
        ..AccountChange::default()
    };
    changed(store, accounts[1].id, AccountEventKind::Banned, ban).await;
    store.remove(event(accounts[2].id, AccountEventKind::Deleted, 3)).await.unwrap().unwrap();
    let (told, place) = told_since(fixture, start.place).await;
    for (account, is_told) in accounts.iter().zip([true, true, true, false]) {
        assert_eq!(told.contains(&account.id), is_told, "{account:?}");
    }
    let later = fixture.sessions.changed_since(Some(place)).await.unwrap();
    assert!(!later.accounts.contains(&accounts[0].id));
}

/// However many events of the same account follow before the feed is read.
pub async fn a_change_before_many_sign_ins_is_in_the_feed(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let before = fixture.sessions.changed_since(None).await.unwrap().place;
    let ending = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
    changed(&*fixture.accounts, account.id, AccountEventKind::SignedOutEverywhere, ending).await;
    let after = fixture.sessions.changed_since(None).await.unwrap().place;
    for _ in 0..100 {
        // Events alone: so many sessions would end each other, which is in the feed as well.
        let sign_ins = at_once(20, |_| {
            let store = Arc::clone(&fixture.accounts);
            let event = event(account.id, AccountEventKind::SignedIn, 1);
            async move { store.change(AccountChange::default(), event).await.unwrap() }
        });
        assert!(sign_ins.await.iter().all(Option::is_some));
    }
    assert!(told_since(fixture, before).await.0.contains(&account.id), "the change is in the feed");
    assert!(!told_since(fixture, after).await.0.contains(&account.id), "and the sign-ins are not");
}

/// A reader with an unknown position is told once that anything may have changed.
pub async fn a_position_of_another_feed_starts_anew(fixture: &AccountsFixture) {
    let sessions = &*fixture.sessions;
    fixture.sign_up().await;
    let known = sessions.changed_since(None).await.unwrap();
    assert!(!known.begins_anew, "a new reader has nothing to forget");
    let here = known.place;
    for unknown in [
        FeedPosition { feed: Uuid::new_v4(), ..here },
        FeedPosition { feed: Uuid::new_v4(), at: 0 },
        FeedPosition { at: here.at + 1_000_000, ..here },
    ] {
        let told = sessions.changed_since(Some(unknown)).await.unwrap();
        assert!(told.begins_anew && told.accounts.is_empty() && !told.more, "{told:?}");
        let next = sessions.changed_since(Some(told.place)).await.unwrap();
        assert!(!next.begins_anew, "{next:?}");
    }
    let again = sessions.changed_since(Some(here)).await.unwrap();
    assert!(!again.begins_anew, "{again:?}");
}
