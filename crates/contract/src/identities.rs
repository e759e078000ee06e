//! Provider identities and sign-up tickets.

use std::sync::Arc;

use lodge_domain::accounts::{
    Account, AccountChange, AccountEventKind, EndSessions, Identity, Linked, LinkedIdentity,
    NewAccount, NewSession, NewTicket, Redeemed, Session, SessionDigest, SessionId, TicketDigest,
    Unlink, Unlinked, Username,
};
use uuid::Uuid;

use crate::{
    AccountsFixture,
    accounts::{event, fresh_name, hash, made, new},
    samples::{at, at_once},
    sessions::{begun, opens},
};

const ISSUER: &str = "https://id.example.org";
const OTHER_ISSUER: &str = "https://id.example.com";
const BOTH: [&str; 2] = [ISSUER, OTHER_ISSUER];

/// An identity that no other test uses.
fn new_identity(issuer: &str) -> Identity {
    Identity::new(issuer.to_owned(), Uuid::now_v7().to_string()).unwrap()
}

/// A ticket for an identity, valid until second 900.
fn ticket(identity: &Identity) -> NewTicket {
    let digest = TicketDigest::of(&Uuid::now_v7().to_string());
    NewTicket { digest, identity: identity.clone(), expires_at: at(900) }
}

/// An account without a password, created at `seconds`.
fn without_password(name: &Username, seconds: i64) -> NewAccount {
    NewAccount { password: None, created_at: at(seconds), ..new(name) }
}

/// Redeems a ticket at `seconds` for an account with this name.
async fn redeem(
    fixture: &AccountsFixture,
    ticket: &NewTicket,
    name: &Username,
    seconds: i64,
) -> Redeemed {
    let account = without_password(name, seconds);
    fixture.identities.redeem(ticket.digest, account).await.unwrap()
}

/// An account whose only way to sign in is this identity.
async fn opened_by(fixture: &AccountsFixture, identity: &Identity) -> Account {
    let ticket = ticket(identity);
    fixture.identities.issue(ticket.clone()).await.unwrap();
    redeem(fixture, &ticket, &fresh_name(), 1).await;
    fixture.identities.find(identity).await.unwrap().unwrap()
}

/// Links an identity to a session's account, at second 5.
async fn link(fixture: &AccountsFixture, session: &NewSession, identity: &Identity) -> Linked {
    let event = event(session.session.account, AccountEventKind::Linked, 5);
    fixture.identities.link(identity.clone(), session.session.id, event).await.unwrap()
}

/// Unlinks an issuer from a session's account at second 6; `issuers` are those that are configured.
async fn unlink(
    fixture: &AccountsFixture,
    session: &NewSession,
    issuer: &str,
    issuers: &[&str],
) -> Unlinked {
    let request = Unlink {
        issuer: issuer.to_owned(),
        kept: session.session.id,
        issuers: issuers.iter().map(|issuer| (*issuer).to_owned()).collect(),
    };
    let event = event(session.session.account, AccountEventKind::Unlinked, 6);
    fixture.identities.unlink(request, event).await.unwrap()
}

/// A session that begins by a provider at the account epoch of `other`.
fn begun_by_provider(other: &NewSession) -> NewSession {
    let id = SessionId(Uuid::now_v7());
    NewSession {
        session: Session { id, ..other.session.clone() },
        digest: SessionDigest::of(&id.0.to_string()),
        kind: AccountEventKind::SignedInByProvider,
        ..other.clone()
    }
}

/// The account has the identity and no password. A taken name does not consume the ticket.
pub async fn a_ticket_creates_one_account(fixture: &AccountsFixture) {
    let (identity, taken, name) = (new_identity(ISSUER), fresh_name(), fresh_name());
    made(&*fixture.accounts, &taken).await;
    let ticket = ticket(&identity);
    assert_eq!(redeem(fixture, &ticket, &name, 1).await, Redeemed::NoTicket);
    fixture.identities.issue(ticket.clone()).await.unwrap();
    assert_eq!(fixture.identities.find(&identity).await.unwrap(), None);
    assert_eq!(redeem(fixture, &ticket, &taken, 1).await, Redeemed::Taken);
    let Redeemed::Made(account) = redeem(fixture, &ticket, &name, 2).await else { unreachable!() };
    assert_eq!((&account.username, account.has_password), (&name, false));
    assert_eq!(fixture.identities.find(&identity).await.unwrap(), Some(account.clone()));
    let linked = LinkedIdentity { identity, linked_at: at(2) };
    assert_eq!(fixture.identities.list(account.id).await.unwrap(), [linked]);
    let events = fixture.accounts.events(account.id, 10).await.unwrap();
    let expected = [AccountEventKind::Linked, AccountEventKind::SignedUp]
        .map(|kind| event(account.id, kind, 2));
    assert_eq!(events, expected);
    assert_eq!(redeem(fixture, &ticket, &fresh_name(), 3).await, Redeemed::NoTicket);
}

/// Promise: submitting the form twice creates one account.
pub async fn concurrent_uses_of_a_ticket_create_one_account(fixture: &AccountsFixture) {
    let identity = new_identity(ISSUER);
    let ticket = ticket(&identity);
    fixture.identities.issue(ticket.clone()).await.unwrap();
    let tries = at_once(20, |_| {
        let (store, digest) = (Arc::clone(&fixture.identities), ticket.digest);
        let account = without_password(&fresh_name(), 1);
        async move { store.redeem(digest, account).await.unwrap() }
    });
    let tries = tries.await;
    assert_eq!(tries.iter().filter(|came| matches!(came, Redeemed::Made(_))).count(), 1);
}

/// The expiry is exact to the second.
pub async fn an_expired_sign_up_ticket_is_refused(fixture: &AccountsFixture) {
    let [early, late] =
        [new_identity(ISSUER), new_identity(ISSUER)].map(|identity| ticket(&identity));
    for ticket in [&early, &late] {
        fixture.identities.issue(ticket.clone()).await.unwrap();
    }
    assert_eq!(redeem(fixture, &late, &fresh_name(), 900).await, Redeemed::NoTicket);
    assert!(matches!(redeem(fixture, &early, &fresh_name(), 899).await, Redeemed::Made(_)));
}

/// A new ticket of an identity invalidates the previous one.
pub async fn only_the_latest_ticket_of_an_identity_is_valid(fixture: &AccountsFixture) {
    let identity = new_identity(ISSUER);
    let (first, second) = (ticket(&identity), ticket(&identity));
    for ticket in [&first, &second] {
        fixture.identities.issue(ticket.clone()).await.unwrap();
    }
    assert_eq!(redeem(fixture, &first, &fresh_name(), 1).await, Redeemed::NoTicket);
    assert!(matches!(redeem(fixture, &second, &fresh_name(), 1).await, Redeemed::Made(_)));
}

/// A difference in case or white space is another identity.
pub async fn identities_are_compared_exactly(fixture: &AccountsFixture) {
    let subject = format!("subject-{}", Uuid::now_v7());
    let known = Identity::new(ISSUER.to_owned(), subject.clone()).unwrap();
    let account = opened_by(fixture, &known).await;
    for (issuer, subject) in [
        (ISSUER, subject.to_uppercase()),
        (ISSUER, format!("{subject} ")),
        (ISSUER, format!(" {subject}")),
        ("https://ID.example.org", subject.clone()),
        ("https://id.example.org ", subject.clone()),
        ("https://id.example.org/", subject.clone()),
    ] {
        let other = Identity::new(issuer.to_owned(), subject).unwrap();
        assert_eq!(fixture.identities.find(&other).await.unwrap(), None, "{other:?}");
        assert_ne!(opened_by(fixture, &other).await.id, account.id, "{other:?}");
    }
    assert_eq!(fixture.identities.find(&known).await.unwrap(), Some(account));
}

/// Promise: concurrent sign-up and linking leave the identity with one account.
pub async fn concurrent_linking_and_sign_up_leave_an_identity_with_one_account(
    fixture: &AccountsFixture,
) {
    for _ in 0..10 {
        let (identity, account) = (new_identity(ISSUER), fixture.sign_up().await);
        let (session, ticket) = (begun(fixture, &account).await, ticket(&identity));
        fixture.identities.issue(ticket.clone()).await.unwrap();
        let (store, of) = (Arc::clone(&fixture.identities), identity.clone());
        let (id, event) = (session.session.id, event(account.id, AccountEventKind::Linked, 5));
        let linking = tokio::spawn(async move { store.link(of, id, event).await.unwrap() });
        let redeemed = redeem(fixture, &ticket, &fresh_name(), 5).await;
        let owner = fixture.identities.find(&identity).await.unwrap().unwrap().id;
        match (linking.await.unwrap(), redeemed) {
            (Linked::Done, Redeemed::Known) => assert_eq!(owner, account.id),
            (Linked::Elsewhere, Redeemed::Made(made)) => assert_eq!(owner, made.id),
            both => unreachable!("{both:?}"),
        }
    }
}

/// An account has at most one identity of each issuer.
pub async fn an_identity_belongs_to_one_account(fixture: &AccountsFixture) {
    let (one, other) = (fixture.sign_up().await, fixture.sign_up().await);
    let (one, other) = (begun(fixture, &one).await, begun(fixture, &other).await);
    let identity = new_identity(ISSUER);
    let late = ticket(&identity);
    fixture.identities.issue(late.clone()).await.unwrap();
    assert_eq!(link(fixture, &one, &identity).await, Linked::Done);
    let owner = fixture.identities.find(&identity).await.unwrap().unwrap();
    assert_eq!(owner.id, one.session.account);
    assert_eq!(link(fixture, &one, &identity).await, Linked::Done, "already linked");
    assert_eq!(link(fixture, &other, &identity).await, Linked::Elsewhere);
    assert_eq!(link(fixture, &one, &new_identity(ISSUER)).await, Linked::Another);
    assert_eq!(link(fixture, &one, &new_identity(OTHER_ISSUER)).await, Linked::Done);
    assert_eq!(redeem(fixture, &late, &fresh_name(), 6).await, Redeemed::Known);
    let listed = fixture.identities.list(one.session.account).await.unwrap();
    let issuers: Vec<_> = listed.iter().map(|linked| linked.identity.issuer.as_str()).collect();
    assert_eq!(issuers, [OTHER_ISSUER, ISSUER]);
    let events = fixture.accounts.events(one.session.account, 10).await.unwrap();
    let told = events.iter().filter(|event| event.kind == AccountEventKind::Linked).count();
    assert_eq!(told, 2);
}

/// The member may have signed out before the provider answered.
pub async fn an_ended_session_links_no_identity(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let (stays, ended) = (begun(fixture, &account).await, begun(fixture, &account).await);
    assert!(fixture.sessions.end(account.id, ended.session.id, at(4)).await.unwrap());
    let identity = new_identity(ISSUER);
    assert_eq!(link(fixture, &ended, &identity).await, Linked::NoSession);
    let foreign = begun(fixture, &fixture.sign_up().await).await;
    let of_mine = event(account.id, AccountEventKind::Linked, 5);
    let of_another = fixture.identities.link(identity.clone(), foreign.session.id, of_mine).await;
    assert_eq!(of_another.unwrap(), Linked::NoSession);
    let late_event = event(account.id, AccountEventKind::Linked, 3600);
    let expired = fixture.identities.link(identity.clone(), stays.session.id, late_event).await;
    assert_eq!(expired.unwrap(), Linked::NoSession);
    assert_eq!(fixture.identities.find(&identity).await.unwrap(), None);
    assert_eq!(link(fixture, &stays, &identity).await, Linked::Done);
}

/// They may have begun by the unlinked provider.
pub async fn unlinking_ends_the_other_sessions(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let (stays, ends) = (begun(fixture, &account).await, begun(fixture, &account).await);
    let identity = new_identity(ISSUER);
    assert_eq!(unlink(fixture, &stays, ISSUER, &BOTH).await, Unlinked::NotLinked);
    assert_eq!(link(fixture, &stays, &identity).await, Linked::Done);
    assert_eq!(unlink(fixture, &stays, OTHER_ISSUER, &BOTH).await, Unlinked::NotLinked);
    assert!(opens(fixture, &ends, at(10)).await);
    let before = fixture.sessions.changed_since(None).await.unwrap().place;
    assert_eq!(unlink(fixture, &stays, ISSUER, &BOTH).await, Unlinked::Done);
    assert!(opens(fixture, &stays, at(10)).await && !opens(fixture, &ends, at(10)).await);
    assert_eq!(fixture.identities.find(&identity).await.unwrap(), None);
    let told = fixture.sessions.changed_since(Some(before)).await.unwrap();
    assert!(told.accounts.contains(&account.id));
    let last = fixture.accounts.events(account.id, 1).await.unwrap();
    assert_eq!(last, [event(account.id, AccountEventKind::Unlinked, 6)]);
}

/// A sign-in in flight at the time of the unlink begins no session.
pub async fn a_sign_in_from_before_an_unlink_begins_no_session(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let stays = begun(fixture, &account).await;
    let (early, late) = (begun_by_provider(&stays), begun_by_provider(&stays));
    assert_eq!(link(fixture, &stays, &new_identity(ISSUER)).await, Linked::Done);
    assert!(fixture.sessions.begin(early.clone()).await.unwrap());
    assert_eq!(unlink(fixture, &stays, ISSUER, &BOTH).await, Unlinked::Done);
    assert!(!fixture.sessions.begin(late.clone()).await.unwrap());
    assert!(!opens(fixture, &early, at(10)).await && !opens(fixture, &late, at(10)).await);
    assert!(opens(fixture, &stays, at(10)).await);
}

/// Promise: pressing both buttons at once leaves one way to sign in.
pub async fn two_concurrent_unlinks_leave_one_way_to_sign_in(fixture: &AccountsFixture) {
    for _ in 0..10 {
        let account = opened_by(fixture, &new_identity(ISSUER)).await;
        let session = begun(fixture, &account).await;
        assert_eq!(link(fixture, &session, &new_identity(OTHER_ISSUER)).await, Linked::Done);
        let issuers = [ISSUER, OTHER_ISSUER].map(str::to_owned);
        let outcomes = at_once(2, |which| {
            let store = Arc::clone(&fixture.identities);
            let (issuer, kept) = (issuers[which].clone(), session.session.id);
            let request = Unlink { issuer, kept, issuers: issuers.to_vec() };
            let event = event(account.id, AccountEventKind::Unlinked, 6);
            async move { store.unlink(request, event).await.unwrap() }
        });
        let outcomes = outcomes.await;
        let done = outcomes.iter().filter(|outcome| **outcome == Unlinked::Done).count();
        assert!(done == 1 && outcomes.contains(&Unlinked::OnlyWay), "{outcomes:?}");
        assert_eq!(fixture.identities.list(account.id).await.unwrap().len(), 1);
    }
}

/// A way to sign in is a password, or the identity of a configured provider.
pub async fn the_last_way_to_sign_in_cannot_be_unlinked(fixture: &AccountsFixture) {
    let identity = new_identity(ISSUER);
    let account = opened_by(fixture, &identity).await;
    let session = begun(fixture, &account).await;
    assert_eq!(unlink(fixture, &session, ISSUER, &BOTH).await, Unlinked::OnlyWay);
    assert_eq!(link(fixture, &session, &new_identity(OTHER_ISSUER)).await, Linked::Done);
    let unlinked = unlink(fixture, &session, ISSUER, &[ISSUER]).await;
    assert_eq!(unlinked, Unlinked::OnlyWay, "the other issuer is not configured");
    assert!(fixture.identities.find(&identity).await.unwrap().is_some());
    assert!(opens(fixture, &session, at(10)).await);
    assert_eq!(unlink(fixture, &session, ISSUER, &BOTH).await, Unlinked::Done);
    assert_eq!(unlink(fixture, &session, OTHER_ISSUER, &BOTH).await, Unlinked::OnlyWay);
}

/// The identity can sign up again, for a new account.
pub async fn the_identities_of_a_deleted_account_are_free(fixture: &AccountsFixture) {
    let identity = new_identity(ISSUER);
    let account = opened_by(fixture, &identity).await;
    let deleted = event(account.id, AccountEventKind::Deleted, 2);
    assert!(fixture.accounts.remove(deleted).await.unwrap().is_some());
    assert_eq!(fixture.identities.find(&identity).await.unwrap(), None);
    assert_eq!(fixture.identities.list(account.id).await.unwrap(), []);
    let again = opened_by(fixture, &identity).await;
    assert_ne!(again.id, account.id);
}

/// The change that sets a new password by a code.
fn recovery(account: &Account) -> AccountChange {
    AccountChange {
        password: Some(hash("new")),
        ending: Some(EndSessions::All),
        unlinks_all: true,
        at_epoch: Some(account.epoch),
        ..AccountChange::default()
    }
}

/// Neither before the recovery nor after it, when the session has ended.
pub async fn an_identity_linked_during_a_recovery_opens_nothing(fixture: &AccountsFixture) {
    a_recovery_beside_links_leaves_no_identity(fixture, fixture).await;
}

/// The same with links at one store and recoveries at another of the same accounts.
pub async fn a_recovery_beside_links_leaves_no_identity(
    linking: &AccountsFixture,
    recovering: &AccountsFixture,
) {
    for _ in 0..20 {
        let account = linking.sign_up().await;
        let session = begun(linking, &account).await;
        let identity = new_identity(ISSUER);
        let linked = link(linking, &session, &identity);
        let recovered = event(account.id, AccountEventKind::PasswordReset, 6);
        let recovered = recovering.accounts.change(recovery(&account), recovered);
        let (_, recovered) = tokio::join!(linked, recovered);
        assert!(recovered.unwrap().is_some());
        assert_eq!(recovering.identities.list(account.id).await.unwrap(), []);
    }
}

/// A former holder may have linked an identity of their own; other accounts keep theirs.
pub async fn recovering_an_account_unlinks_its_identities(fixture: &AccountsFixture) {
    let (mine, others) = (new_identity(ISSUER), new_identity(ISSUER));
    let (account, other) = (opened_by(fixture, &mine).await, opened_by(fixture, &others).await);
    let session = begun(fixture, &account).await;
    assert_eq!(link(fixture, &session, &new_identity(OTHER_ISSUER)).await, Linked::Done);
    let of_now = recovery(&account);
    let change = AccountChange { at_epoch: Some(account.epoch + 1), ..of_now.clone() };
    let recovered = event(account.id, AccountEventKind::PasswordReset, 6);
    assert_eq!(fixture.accounts.change(change, recovered.clone()).await.unwrap(), None);
    assert_eq!(fixture.identities.list(account.id).await.unwrap().len(), 2, "nothing was changed");
    assert!(fixture.accounts.change(of_now, recovered).await.unwrap().is_some());
    assert_eq!(fixture.identities.list(account.id).await.unwrap(), []);
    assert_eq!(fixture.identities.find(&mine).await.unwrap(), None);
    assert_eq!(fixture.identities.find(&others).await.unwrap(), Some(other));
}

/// The account's owner can check how each session began.
pub async fn a_sign_in_by_a_provider_is_recorded(fixture: &AccountsFixture) {
    let account = fixture.sign_up().await;
    let by_provider = begun_by_provider(&begun(fixture, &account).await);
    let before = fixture.sessions.changed_since(None).await.unwrap().place;
    assert!(fixture.sessions.begin(by_provider).await.unwrap());
    let last = fixture.accounts.events(account.id, 1).await.unwrap();
    assert_eq!(last, [event(account.id, AccountEventKind::SignedInByProvider, 0)]);
    let told = fixture.sessions.changed_since(Some(before)).await.unwrap();
    assert!(!told.accounts.contains(&account.id), "a sign-in changes nothing that is cached");
}
