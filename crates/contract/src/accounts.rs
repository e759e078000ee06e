//! Accounts.

use std::sync::Arc;

use lodge_domain::{
    Error, Idempotent,
    accounts::{
        Account, AccountChange, AccountEvent, AccountEventKind, AccountId, AccountQuery,
        AccountStore, Actor, Credential, Email, NewAccount, Nickname, PictureId, Reset, Role,
        SignUpOutcome, Username,
    },
    passwords::PasswordHash,
};
use uuid::Uuid;

use crate::{
    AccountsFixture,
    samples::{at, at_once, fresh, idempotency_key},
};

/// A username that no other test uses.
pub fn fresh_name() -> Username {
    // The last part of the id is random.
    let id = Uuid::now_v7().simple().to_string();
    Username::parse(&format!("user-{}", &id[12..])).unwrap()
}

/// A password hash that is never verified.
pub fn hash(text: &str) -> PasswordHash {
    PasswordHash(format!("$argon2id${text}"))
}

/// A credential with a password and no reset code.
fn credential(text: &str) -> Credential {
    Credential { password: Some(hash(text)), reset: None }
}

/// An account to be created.
pub fn new(username: &Username) -> NewAccount {
    NewAccount::new(username.clone(), Some(hash("first")), at(0))
}

/// Creates an account with a free name.
pub async fn made(store: &dyn AccountStore, username: &Username) -> Account {
    store.add(new(username), None).await.unwrap().outcome.unwrap()
}

/// An event that was caused by the account's owner.
pub fn event(account: AccountId, kind: AccountEventKind, seconds: i64) -> AccountEvent {
    AccountEvent { account, at: at(seconds), kind, by: Actor::Owner }
}

/// Changes an existing account.
pub async fn changed(
    store: &dyn AccountStore,
    id: AccountId,
    kind: AccountEventKind,
    change: AccountChange,
) -> Account {
    store.change(change, event(id, kind, 1)).await.unwrap().unwrap()
}

/// Lookups by name and by number return the same account.
pub async fn an_account_is_found_by_its_name_and_its_number(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = fresh_name();
    assert_eq!(store.find(&name).await.unwrap(), None);
    let wanted = NewAccount {
        nickname: Nickname::parse("Ada L. ♥").unwrap(),
        email: Some(Email::parse("ada@example.org").unwrap()),
        role: Role::Moderator,
        ..new(&name)
    };
    let account = store.add(wanted, None).await.unwrap().outcome.unwrap();
    assert_eq!((&account.username, account.nickname.as_str()), (&name, "Ada L. ♥"));
    assert_eq!(account.email.as_ref().unwrap().as_str(), "ada@example.org");
    assert_eq!((account.role, account.has_password), (Role::Moderator, true));
    assert_eq!((account.created_at, account.banned_at), (at(0), None));
    let found = Some((account.clone(), credential("first")));
    assert_eq!(store.find(&name).await.unwrap(), found);
    assert_eq!(store.get(account.id).await.unwrap(), found);
    assert_eq!(store.get(AccountId(i64::MAX)).await.unwrap(), None);

    let other = fresh_name();
    let without = NewAccount { password: None, ..new(&other) };
    let other = store.add(without, None).await.unwrap().outcome.unwrap();
    assert_ne!(other.id, account.id);
    assert!(!other.has_password);
    assert_eq!(store.get(other.id).await.unwrap(), Some((other, Credential::default())));
}

/// Promise: of many sign-ups for one name exactly one succeeds.
pub async fn of_two_hundred_sign_ups_with_one_name_one_succeeds(fixture: &AccountsFixture) {
    let name = fresh_name();
    let tries = at_once(200, |_| {
        let (store, account) = (Arc::clone(&fixture.accounts), new(&name));
        async move { store.add(account, None).await.unwrap().outcome }
    });
    let mut made: Vec<_> = tries.await.into_iter().flatten().collect();
    assert_eq!(made.len(), 1);
    let found = fixture.accounts.find(&name).await.unwrap();
    assert_eq!(found.map(|(account, _)| account), made.pop());
}

/// A username that looks like an existing one is taken, also while the existing one is that of a deleted account.
pub async fn a_look_alike_of_a_username_is_taken(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = fresh_name();
    let account = made(store, &name).await;
    let cyrillic = name.as_str().replace("se", "\u{455}\u{435}");
    let mixed = name.as_str().replace("se", "s\u{435}");
    let look_alikes = [cyrillic, mixed].map(|name| Username::parse(&name).unwrap());
    for look_alike in &look_alikes {
        assert_eq!(store.add(new(look_alike), None).await.unwrap().outcome, None);
    }
    let many = look_alikes.iter().map(new).collect();
    assert_eq!(store.add_many(many).await.unwrap(), [false, false]);
    let deleted = event(account.id, AccountEventKind::Deleted, 1);
    assert!(store.remove(deleted).await.unwrap().is_some());
    assert_eq!(store.add(new(&look_alikes[0]), None).await.unwrap().outcome, None);
}

/// Every repetition returns the account that the first one created.
pub async fn concurrent_repetitions_of_a_sign_up_make_one_account(fixture: &AccountsFixture) {
    let (name, shared) = (fresh_name(), idempotency_key(&fresh("key"), "body", 0));
    let tries = at_once(50, |_| {
        let (store, account) = (Arc::clone(&fixture.accounts), new(&name));
        let idempotency = Some(shared.clone());
        async move { store.add(account, idempotency).await.unwrap() }
    });
    let mut made = 0;
    for Idempotent { outcome, replayed } in tries.await {
        assert_eq!(outcome.map(|account| account.username), Some(name.clone()));
        made += u32::from(!replayed);
    }
    assert_eq!(made, 1);
}

/// A repetition returns the first outcome, whether the name was free or taken.
pub async fn a_repeated_sign_up_returns_the_first_outcome(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let (name, key) = (fresh_name(), fresh("key"));
    let tried = idempotency_key(&key, "body", 0);
    assert_eq!(store.stored_outcome(&tried).await.unwrap(), None);
    let first = store.add(new(&name), Some(tried.clone())).await.unwrap();
    let account = first.outcome.clone().unwrap();
    assert!(!first.replayed);
    let renamed = AccountChange {
        nickname: Some(Nickname::parse("another").unwrap()),
        ..AccountChange::default()
    };
    let renamed = changed(store, account.id, AccountEventKind::Edited, renamed).await;
    let again = async || store.add(new(&name), Some(idempotency_key(&key, "body", 5))).await;
    let as_it_is_now = Idempotent { outcome: Some(renamed), replayed: true };
    assert_eq!(again().await.unwrap(), as_it_is_now);
    let kept = Some(SignUpOutcome::SignedUp(account.id));
    assert_eq!(store.stored_outcome(&tried).await.unwrap(), kept);
    let other = store.add(new(&fresh_name()), Some(idempotency_key(&key, "other", 5))).await;
    assert!(matches!(other, Err(Error::KeyReused)));
    store.remove(event(account.id, AccountEventKind::Deleted, 2)).await.unwrap().unwrap();
    assert!(matches!(again().await, Err(Error::Gone(_))));

    let key = fresh("key");
    for replayed in [false, true] {
        let taken = store.add(new(&name), Some(idempotency_key(&key, "", 0))).await.unwrap();
        assert_eq!(taken, Idempotent { outcome: None, replayed });
    }
}

/// Fields that the change does not name keep their values.
pub async fn a_change_leaves_other_fields_alone(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = fresh_name();
    let account = made(store, &name).await;
    let none = AccountChange::default;
    let change = |kind, change| changed(store, account.id, kind, change);

    let nickname = Nickname::parse("Ada").unwrap();
    let email = Email::parse("ada@example.org").unwrap();
    let edit = AccountChange {
        nickname: Some(nickname.clone()),
        email: Some(Some(email.clone())),
        ..none()
    };
    let mut expected = Account { nickname, email: Some(email), ..account.clone() };
    assert_eq!(change(AccountEventKind::Edited, edit).await, expected);
    let edit = AccountChange {
        nickname: Some(Nickname::from(&name)),
        email: Some(None),
        role: Some(Role::Admin),
        ..none()
    };
    expected = Account { role: Role::Admin, ..account.clone() };
    assert_eq!(change(AccountEventKind::RoleChanged, edit).await, expected);
    let ban = AccountChange { banned_at: Some(Some(at(7))), ..none() };
    assert_eq!(change(AccountEventKind::Banned, ban).await.banned_at, Some(at(7)));
    let unban = AccountChange { banned_at: Some(None), ..none() };
    assert_eq!(change(AccountEventKind::Unbanned, unban).await, expected);
    let password = AccountChange { password: Some(hash("second")), ..none() };
    assert_eq!(change(AccountEventKind::PasswordChanged, password).await, expected);
    assert_eq!(
        store.get(account.id).await.unwrap(),
        Some((expected.clone(), credential("second")))
    );

    let reset = Reset { digest: [7; 32], expires_at: at(900) };
    let issue = AccountChange { reset: Some(Some(reset.clone())), ..none() };
    assert_eq!(change(AccountEventKind::ResetIssued, issue).await, expected);
    let both = |text| Credential { reset: Some(reset.clone()), ..credential(text) };
    assert_eq!(store.find(&name).await.unwrap(), Some((expected.clone(), both("second"))));
    let renewed = AccountChange { password: Some(hash("third")), ..none() };
    assert_eq!(change(AccountEventKind::PasswordRenewed, renewed).await, expected);
    assert_eq!(store.find(&name).await.unwrap(), Some((expected.clone(), both("third"))));
    let used = AccountChange { password: Some(hash("fourth")), reset: Some(None), ..none() };
    assert_eq!(change(AccountEventKind::PasswordReset, used).await, expected);
    assert_eq!(store.find(&name).await.unwrap(), Some((expected, credential("fourth"))));
    let absent =
        store.change(none(), event(AccountId(i64::MAX), AccountEventKind::Edited, 1)).await;
    assert_eq!(absent.unwrap(), None);
}

/// The picture is replaced only if the account still has the expected one.
pub async fn a_picture_is_replaced_only_if_it_is_the_expected_one(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = fresh_name();
    let account = made(store, &name).await;
    assert_eq!(account.picture, None);
    let (one, two) = (PictureId::stored([1; 32]), PictureId::stored([2; 32]));
    let set = async |had: Option<PictureId>, picture: Option<PictureId>| {
        let change = AccountChange {
            picture: Some(picture),
            had_picture: Some(had),
            ..AccountChange::default()
        };
        store.change(change, event(account.id, AccountEventKind::PictureChanged, 1)).await.unwrap()
    };
    let with = |picture| Some(Account { picture, ..account.clone() });
    assert_eq!(set(Some(one), Some(two)).await, None);
    assert_eq!(set(None, Some(one)).await, with(Some(one)));
    assert_eq!(set(None, Some(two)).await, None);
    assert_eq!(set(Some(two), None).await, None);
    assert_eq!(set(Some(one), Some(two)).await, with(Some(two)));
    let found = store.find(&name).await.unwrap().map(|(account, _)| account);
    assert_eq!(found, with(Some(two)));
    let removed = store.remove(event(account.id, AccountEventKind::Deleted, 2)).await.unwrap();
    assert_eq!(removed, with(Some(two)));
    assert_eq!(set(Some(two), None).await, None);
}

/// A change that expects a role is refused after the role has changed.
pub async fn a_change_is_made_only_if_the_role_is_the_expected_one(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let account = fixture.sign_up().await;
    let ban = async |had_role| {
        let change = AccountChange {
            banned_at: Some(Some(at(7))),
            had_role: Some(had_role),
            ..AccountChange::default()
        };
        store.change(change, event(account.id, AccountEventKind::Banned, 7)).await.unwrap()
    };
    let raise = AccountChange { role: Some(Role::Admin), ..AccountChange::default() };
    changed(store, account.id, AccountEventKind::RoleChanged, raise).await;
    assert_eq!(ban(Role::Member).await, None);
    let (found, _) = store.get(account.id).await.unwrap().unwrap();
    assert_eq!(found.banned_at, None);
    assert!(ban(Role::Admin).await.is_some());
}

/// Promise: of admins who demote each other at once, one stays.
pub async fn of_admins_who_demote_each_other_one_stays(fixture: &AccountsFixture) {
    let store = &fixture.accounts;
    for _ in 0..10 {
        let pair = [fixture.sign_up().await.id, fixture.sign_up().await.id];
        let set_role = |role, id: AccountId, by: Option<AccountId>| {
            let change = AccountChange {
                role: Some(role),
                staff_role: by.map(|_| Role::Admin),
                ..AccountChange::default()
            };
            let event = event(id, AccountEventKind::RoleChanged, 1);
            let event = AccountEvent { by: by.map_or(event.by, Actor::Staff), ..event };
            let store = Arc::clone(store);
            async move { store.change(change, event).await.unwrap() }
        };
        for id in pair {
            set_role(Role::Admin, id, None).await.unwrap();
        }
        let demote = |number: usize| set_role(Role::Member, pair[number], Some(pair[1 - number]));
        let demoted = at_once(2, demote).await.into_iter().flatten().count();
        assert_eq!(demoted, 1);
    }
}

/// A change that expects the staff member to have a role is refused where a ban or another role came first.
pub async fn a_change_by_staff_is_made_only_while_they_have_their_role(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let (account, staff) = (fixture.sign_up().await, fixture.sign_up().await);
    let ban = async |by| {
        let change = AccountChange {
            banned_at: Some(Some(at(7))),
            staff_role: Some(Role::Moderator),
            ..AccountChange::default()
        };
        let event = AccountEvent { by, ..event(account.id, AccountEventKind::Banned, 7) };
        store.change(change, event).await.unwrap().is_some()
    };
    let by_staff = Actor::Staff(staff.id);
    assert!(!ban(by_staff).await, "a member");
    let raise = AccountChange { role: Some(Role::Moderator), ..AccountChange::default() };
    changed(store, staff.id, AccountEventKind::RoleChanged, raise).await;
    assert!(ban(by_staff).await);
    assert!(!ban(Actor::Owner).await, "no staff member");
    let banned = AccountChange { banned_at: Some(Some(at(8))), ..AccountChange::default() };
    changed(store, staff.id, AccountEventKind::Banned, banned).await;
    assert!(!ban(by_staff).await, "banned");
}

/// Promise: of many accounts that want to be the first admin at once, one becomes it. The stores have no admin at first.
pub async fn of_many_at_once_one_becomes_the_first_admin(fixture: &AccountsFixture) {
    let store = &fixture.accounts;
    assert!(!store.has_admin().await.unwrap());
    let mut accounts = Vec::new();
    for _ in 0..20 {
        accounts.push(fixture.sign_up().await.id);
    }
    let become_admin = |id: AccountId| {
        let change = AccountChange {
            role: Some(Role::Admin),
            without_admin: true,
            ..AccountChange::default()
        };
        let store = Arc::clone(store);
        async move { store.change(change, event(id, AccountEventKind::RoleChanged, 1)).await.unwrap() }
    };
    let tries = at_once(accounts.len(), |number| become_admin(accounts[number]));
    let mut made: Vec<_> = tries.await.into_iter().flatten().collect();
    let admin = made.pop().unwrap();
    assert!(made.is_empty() && admin.role == Role::Admin && store.has_admin().await.unwrap());
    store.remove(event(admin.id, AccountEventKind::Deleted, 2)).await.unwrap().unwrap();
    assert!(!store.has_admin().await.unwrap(), "a deleted account is no admin");
    let other = accounts.into_iter().find(|id| *id != admin.id).unwrap();
    assert!(become_admin(other).await.is_some());
}

/// The store reports those of the given pictures that an account has, in any order.
pub async fn pictures_of_accounts_are_reported(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = |first: u128| {
        let half = uuid::Uuid::now_v7().as_u128();
        PictureId::stored([first, half].map(u128::to_be_bytes).concat().try_into().unwrap())
    };
    let (had, has, unused) = (name(1), name(2), name(3));
    let account = fixture.sign_up().await;
    for picture in [had, has] {
        let change = AccountChange { picture: Some(Some(picture)), ..AccountChange::default() };
        store.change(change, event(account.id, AccountEventKind::PictureChanged, 1)).await.unwrap();
    }
    let known = store.pictured(vec![unused, has, had]).await.unwrap();
    assert_eq!(known, [has]);
    assert_eq!(store.pictured(Vec::new()).await.unwrap(), []);
    store.remove(event(account.id, AccountEventKind::Deleted, 2)).await.unwrap().unwrap();
    assert_eq!(store.pictured(vec![has]).await.unwrap(), []);
}

/// The name stays taken; all other data is erased.
pub async fn the_name_of_a_deleted_account_stays_taken(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let name = fresh_name();
    let account = made(store, &name).await;
    let removed = store.remove(event(account.id, AccountEventKind::Deleted, 2)).await.unwrap();
    assert_eq!(removed.as_ref(), Some(&account), "the state before the deletion");
    assert_eq!(store.find(&name).await.unwrap(), None);
    assert_eq!(store.get(account.id).await.unwrap(), None);
    assert_eq!(store.add(new(&name), None).await.unwrap().outcome, None);
    assert_eq!(store.remove(event(account.id, AccountEventKind::Deleted, 3)).await.unwrap(), None);
    let change = AccountChange { role: Some(Role::Admin), ..AccountChange::default() };
    let changed =
        store.change(change, event(account.id, AccountEventKind::RoleChanged, 3)).await.unwrap();
    assert_eq!(changed, None);
}

/// Events are returned newest first, with the account that caused them.
pub async fn the_events_of_an_account_are_stored(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let (account, staff) = (fixture.sign_up().await, fixture.sign_up().await);
    let ban = AccountChange { banned_at: Some(Some(at(4))), ..AccountChange::default() };
    let by_staff = AccountEvent {
        by: Actor::Staff(staff.id),
        ..event(account.id, AccountEventKind::Banned, 4)
    };
    store.change(ban, by_staff.clone()).await.unwrap().unwrap();
    let events = store.events(account.id, 10).await.unwrap();
    assert_eq!(events, [by_staff.clone(), event(account.id, AccountEventKind::SignedUp, 0)]);
    assert_eq!(store.events(account.id, 1).await.unwrap(), [by_staff]);
    assert_eq!(store.events(AccountId(i64::MAX), 10).await.unwrap(), []);
}

/// A taken name refuses that account only.
pub async fn many_accounts_are_created_together(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let names: Vec<_> = (0..3).map(|_| fresh_name()).collect();
    made(store, &names[1]).await;
    let many = names.iter().chain([&names[0]]).map(new).collect();
    assert_eq!(store.add_many(many).await.unwrap(), [true, false, true, false]);
    for name in &names {
        assert!(store.find(name).await.unwrap().is_some());
    }
}

/// Accounts are paged by name; deleted ones are left out.
pub async fn accounts_are_listed_by_name(fixture: &AccountsFixture) {
    let store = &*fixture.accounts;
    let start = fresh_name();
    let mut expected = Vec::new();
    for last in ["", "a", "b", "c", "ß", "ü"] {
        let name = Username::parse(&format!("{start}{last}")).unwrap();
        expected.push(made(store, &name).await);
    }
    let gone = expected.remove(2);
    store.remove(event(gone.id, AccountEventKind::Deleted, 1)).await.unwrap().unwrap();
    let list = |after: Option<&Account>, limit| {
        store.list(AccountQuery {
            prefix: start.as_str().to_owned(),
            after: after.map(|account| account.username.clone()),
            limit,
        })
    };
    assert_eq!(list(None, 100).await.unwrap(), expected);
    assert_eq!(list(None, 2).await.unwrap(), expected[..2]);
    assert_eq!(list(Some(&expected[1]), 2).await.unwrap(), expected[2..4]);
    assert_eq!(list(expected.last(), 2).await.unwrap(), []);
}
