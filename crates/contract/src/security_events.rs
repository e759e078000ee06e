//! Security events.

use lodge_domain::{
    OsRandom,
    accounts::AccountId,
    security::{
        NewSecurityEvent, SecurityActor, SecurityEvent, SecurityEventKind, SecurityEventQuery,
    },
};
use uuid::Uuid;

use crate::{AccountsFixture, samples::at};

fn event(
    kind: SecurityEventKind,
    actor: SecurityActor,
    account: Option<AccountId>,
    origin: &str,
    seconds: i64,
) -> SecurityEvent {
    let detail = "a \"detail\" ♥".to_owned();
    let new = NewSecurityEvent { kind, actor, account, address: None, detail };
    SecurityEvent::new(new, origin.to_owned(), at(seconds), &OsRandom)
}

/// An origin that no other test uses.
fn fresh_origin() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Events are listed newest first, in pages, by kind, account, origin and time.
pub async fn security_events_are_listed_newest_first_by_filter(fixture: &AccountsFixture) {
    use SecurityEventKind::{Banned, SignInFailed};
    let store = &*fixture.security_events;
    let (ada, eve) = (fixture.sign_up().await.id, fixture.sign_up().await.id);
    let (here, there) = (fresh_origin(), fresh_origin());
    let by_ada = SecurityActor::Account(ada);
    let failed = event(SignInFailed, SecurityActor::Visitor, Some(eve), &here, 100);
    let banned = event(Banned, by_ada, Some(eve), &here, 101);
    let own = event(Banned, SecurityActor::Operator, Some(ada), &there, 102);
    let by_key = event(SignInFailed, SecurityActor::Key(7), None, &there, 103);
    let all = vec![failed.clone(), banned.clone(), own.clone(), by_key.clone()];
    store.append(all).await.unwrap();

    let of = async |query: SecurityEventQuery| {
        store.list(SecurityEventQuery { limit: 10, ..query }).await.unwrap()
    };
    let query = SecurityEventQuery::default;
    let by_origin =
        |origin: &String| SecurityEventQuery { origin: Some(origin.clone()), ..query() };
    let by_account = |id| SecurityEventQuery { account: Some(id), ..query() };
    assert_eq!(of(by_origin(&here)).await, [banned.clone(), failed.clone()]);
    assert_eq!(of(by_account(eve)).await, [banned.clone(), failed.clone()]);
    assert_eq!(of(by_account(ada)).await, [own.clone(), banned.clone()], "also what it did");
    let kind = SecurityEventQuery { kind: Some(SignInFailed), ..by_origin(&there) };
    assert_eq!(of(kind).await, [by_key]);
    let since = SecurityEventQuery { since: Some(at(102)), ..by_account(ada) };
    assert_eq!(of(since).await, std::slice::from_ref(&own));
    let before = SecurityEventQuery { before: Some(own.id), ..by_account(ada) };
    assert_eq!(of(before).await, std::slice::from_ref(&banned));
    let one = SecurityEventQuery { limit: 1, ..by_account(eve) };
    assert_eq!(store.list(one).await.unwrap(), [banned]);
    let kind = SecurityEventQuery { kind: Some(Banned), before: Some(own.id), ..query() };
    assert!(of(kind).await.iter().all(|event| event.kind == Banned && event.id < own.id));
    assert!(of(query()).await.is_sorted_by(|a, b| a.id > b.id));
}

/// An event that is stored again, in any order, keeps the highest number of repetitions.
pub async fn a_repeated_event_is_one_row_with_the_highest_count(fixture: &AccountsFixture) {
    let store = &*fixture.security_events;
    let origin = fresh_origin();
    let first = event(SecurityEventKind::SignInFailed, SecurityActor::Visitor, None, &origin, 100);
    let later = |repeats: u32| SecurityEvent {
        repeats,
        last_at: at(100 + i64::from(repeats)),
        ..first.clone()
    };
    store.append(vec![first.clone()]).await.unwrap();
    store.append(vec![later(9)]).await.unwrap();
    store.append(vec![later(4)]).await.unwrap();
    let query =
        SecurityEventQuery { origin: Some(origin), limit: 10, ..SecurityEventQuery::default() };
    assert_eq!(store.list(query).await.unwrap(), [later(9)]);
}
