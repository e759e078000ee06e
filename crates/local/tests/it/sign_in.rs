//! The cost of a sign-in, counted instead of timed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use lodge_contract::{
    accounts::{changed, new},
    samples::at,
};
use lodge_domain::{
    Error, Result,
    accounts::{
        AccountChange, AccountEventKind, AccountStore, Accounts, FreshSession, NewAccount,
        NewPassword, SignIn, SignedIn, Username,
    },
    clock::ManualClock,
    password_hasher::{PasswordHasher, PasswordOf},
    passwords::{Password, PasswordHash},
};
use lodge_sqlite::Sqlite;
use parking_lot::Mutex;

use crate::support::{accounts, open};

const PASSWORD: &str = "a lift in the fog";
/// An outdated hash.
const BCRYPT: &str = "$2b$04$WYz4gw5Cos5hDj59hW0QkOJ0I99LIPD4sZUud5AAHqs0rbWaTeLBy";
/// The hash of [`PASSWORD`].
const RIGHT: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$cmlnaHQ";

/// Records each operation and its cost parameters.
#[derive(Default)]
struct Counting(Mutex<Vec<Work>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Hash,
    Verify { cost: String },
}

#[async_trait]
impl PasswordHasher for Counting {
    async fn hash(&self, _: PasswordOf, _: Password) -> Result<PasswordHash> {
        self.0.lock().push(Work::Hash);
        Ok(PasswordHash(RIGHT.to_owned()))
    }

    async fn verify(&self, _: PasswordOf, password: Password, hash: PasswordHash) -> Result<bool> {
        let cost: Vec<&str> = hash.0.split('$').take(4).collect();
        self.0.lock().push(Work::Verify { cost: cost.join("$") });
        Ok(hash.0 == RIGHT && password.as_bytes() == PASSWORD.as_bytes())
    }
}

/// Accepts every password, and allows this many new hashes.
struct Lenient(AtomicUsize);

#[async_trait]
impl PasswordHasher for Lenient {
    async fn hash(&self, _: PasswordOf, _: Password) -> Result<PasswordHash> {
        let taken =
            self.0.try_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1));
        taken.map(|_| PasswordHash(RIGHT.to_owned())).map_err(|_| Error::unavailable("full"))
    }

    async fn verify(&self, _: PasswordOf, _: Password, _: PasswordHash) -> Result<bool> {
        Ok(true)
    }
}

/// Creates an account with this name.
async fn known(store: &dyn AccountStore, name: &str, has_password: bool, banned: bool) {
    let password = has_password.then(|| PasswordHash(RIGHT.to_owned()));
    let account = NewAccount { password, ..new(&Username::parse(name).unwrap()) };
    let account = store.add(account, None).await.unwrap().outcome.unwrap();
    if banned {
        let change = AccountChange { banned_at: Some(Some(at(1))), ..AccountChange::default() };
        changed(store, account.id, AccountEventKind::Banned, change).await;
    }
}

fn service<P: PasswordHasher + 'static>(engine: &Sqlite, passwords: &Arc<P>) -> Accounts {
    let clock = Arc::new(ManualClock::at(at(2)));
    accounts(engine, Arc::clone(passwords) as Arc<dyn PasswordHasher>, &clock, &Arc::default())
}

async fn signed_in(accounts: &Accounts, username: &str, password: &str) -> Result<FreshSession> {
    let password = Password::parse("password", password.to_owned())?;
    let request = SignIn {
        username: username.to_owned(),
        password,
        from: None,
        agent: String::new(),
        device: None,
    };
    accounts.sign_in(request).await
}

#[tokio::test]
async fn every_kind_of_sign_in_costs_one_verification_of_the_same_cost() {
    let (engine, _folder) = open();
    let store = engine.accounts();
    known(&*store, "ada", true, false).await;
    known(&*store, "banned", true, true).await;
    known(&*store, "provided", false, false).await;
    known(&*store, "banned-provided", false, true).await;
    let passwords = Arc::new(Counting::default());
    let accounts = service(&engine, &passwords);
    let one = [Work::Verify { cost: "$argon2id$v=19$m=19456,t=2,p=1".to_owned() }];
    let mut refusals = Vec::new();
    for (kind, name, password) in [
        ("a wrong password", "ada", "a guess"),
        ("an unknown name", "unknown", "a guess"),
        ("an invalid name", "not a valid name", "a guess"),
        ("a banned account", "banned", "a guess"),
        ("an account without a password", "provided", "a guess"),
        ("a banned one without a password", "banned-provided", "a guess"),
        ("the right password", "ada", PASSWORD),
        ("the right password of a banned account", "banned", PASSWORD),
    ] {
        let outcome = signed_in(&accounts, name, password).await;
        assert_eq!(std::mem::take(&mut *passwords.0.lock()), one, "{kind}");
        match (name, password) {
            ("ada", PASSWORD) => assert!(outcome.is_ok(), "{kind}"),
            ("banned", PASSWORD) => assert!(matches!(outcome, Err(Error::Forbidden(_))), "{kind}"),
            _ => refusals.push(outcome.err().unwrap().to_string()),
        }
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "every guess is refused in the same words: {refusals:?}");
}

#[tokio::test]
async fn a_session_that_has_ended_cannot_change_the_password() {
    let (engine, _folder) = open();
    known(&*engine.accounts(), "ada", true, false).await;
    let accounts = service(&engine, &Arc::new(Counting::default()));
    let password = || Some(Password::parse("current", PASSWORD.to_owned()).unwrap());
    let new =
        |name: &Username| NewPassword::parse("new", "another in the fog".to_owned(), name).unwrap();
    let change = async |me: &SignedIn| {
        accounts.change_password(me, password(), new(&me.account.username), None).await
    };
    let me = async || signed_in(&accounts, "ada", PASSWORD).await.unwrap().signed_in;
    let (mine, ended) = (me().await, me().await);
    accounts.sign_out(&ended).await.unwrap();
    assert!(matches!(change(&ended).await, Err(Error::Forbidden(_))));
    change(&mine).await.unwrap();
    assert!(
        matches!(change(&mine).await, Err(Error::Forbidden(_))),
        "the current password is no longer valid"
    );
}

/// Creates an account with an outdated hash, signs in with `password`, and returns the hash afterwards.
async fn renewed(engine: &Sqlite, accounts: &Accounts, name: &str, password: &str) -> String {
    let (store, name) = (engine.accounts(), Username::parse(name).unwrap());
    let imported = NewAccount { password: Some(PasswordHash(BCRYPT.to_owned())), ..new(&name) };
    store.add(imported, None).await.unwrap().outcome.unwrap();
    signed_in(accounts, name.as_str(), password).await.unwrap();
    let (_, credential) = store.find(&name).await.unwrap().unwrap();
    credential.password.unwrap().0
}

#[tokio::test]
async fn a_sign_in_succeeds_even_if_its_hash_cannot_be_upgraded() {
    let (engine, _folder) = open();
    let accounts = service(&engine, &Arc::new(Lenient(1.into())));
    assert_eq!(renewed(&engine, &accounts, "ada", PASSWORD).await, RIGHT);
    assert_eq!(renewed(&engine, &accounts, "grace", PASSWORD).await, BCRYPT, "the pool is full");
}

#[tokio::test]
async fn a_password_that_bcrypt_truncates_is_not_rehashed() {
    let (engine, _folder) = open();
    let accounts = service(&engine, &Arc::new(Lenient(9.into())));
    for (bytes, expected) in [(71, RIGHT), (72, BCRYPT), (100, BCRYPT)] {
        let name = format!("ada-{bytes}");
        let kept = renewed(&engine, &accounts, &name, &"x".repeat(bytes)).await;
        assert_eq!(kept, expected, "{bytes}");
    }
}
