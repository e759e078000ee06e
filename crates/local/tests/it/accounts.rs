//! Who is signed in, in memory, while others end sessions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use lodge_contract::{
    AccountsFixture,
    accounts::{event, fresh_name, made},
    samples::at,
    sessions::begun,
};
use lodge_domain::{
    Error, Result,
    accounts::{
        AccountChange, Accounts, Actor, Backend, Call, Ending, EventKind, Failures as _,
        NewPassword, Own, PictureId, Reply, Role, SessionDigest, SignIn,
    },
    clock::ManualClock,
    passwords::Password,
};
use lodge_local::{Argon2Pool, CachedAccounts, CountedFailures};
use lodge_sqlite::Sqlite;
use parking_lot::RwLock;
use tempfile::TempDir;

use crate::support::{account_stores, accounts, open, until};

/// Counts the questions who is signed in and what has changed, can be cut off, and can be given another
/// database.
struct Counted {
    accounts: RwLock<Arc<Accounts>>,
    asked: AtomicUsize,
    heard: AtomicUsize,
    cut_off: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Backend for Counted {
    async fn call(&self, call: Call) -> Result<Reply> {
        if self.cut_off.load(Ordering::SeqCst) {
            return Err(Error::unavailable("cut off"));
        }
        if let Call::Who(_) = call {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
        if let Call::ChangedSince(_) = call {
            self.heard.fetch_add(1, Ordering::SeqCst);
        }
        let accounts = Arc::clone(&self.accounts.read());
        accounts.call(call).await
    }
}

fn service(
    engine: &Sqlite,
    clock: &Arc<ManualClock>,
    failures: &Arc<CountedFailures>,
) -> Arc<Accounts> {
    Arc::new(accounts(engine, Arc::new(Argon2Pool::new(1, 100).unwrap()), clock, failures))
}

struct Fixture {
    stores: AccountsFixture,
    backend: Arc<Counted>,
    clock: Arc<ManualClock>,
    failures: Arc<CountedFailures>,
    #[expect(dead_code, reason = "it must live as long as the stores")]
    engine: (Sqlite, TempDir),
}

impl Fixture {
    fn new() -> Self {
        let (engine, folder) = open();
        let clock = Arc::new(ManualClock::at(at(10)));
        let failures = Arc::default();
        let accounts = RwLock::new(service(&engine, &clock, &failures));
        let stores = account_stores(&engine);
        let backend = Counted { accounts, asked: 0.into(), heard: 0.into(), cut_off: false.into() };
        let engine = (engine, folder);
        Self { stores, backend: Arc::new(backend), clock, failures, engine }
    }

    /// A cache that hears of changes, as another process has it.
    fn following(&self, kept: Duration) -> Arc<CachedAccounts> {
        let backend = Arc::clone(&self.backend) as Arc<dyn Backend>;
        let cache = CachedAccounts::new(backend, Arc::clone(&self.clock) as Arc<_>);
        let cache = Arc::new(cache.keeping(kept));
        let following = Arc::clone(&cache);
        tokio::spawn(async move { following.follow().await });
        cache
    }

    /// The same, when it has begun to remember.
    async fn cache(&self) -> Arc<CachedAccounts> {
        let cache = self.following(Duration::from_mins(1));
        let session = self.session().await;
        until("it remembers", async || {
            let before = self.asked();
            assert!(who(&cache, session).await.is_ok());
            self.asked() == before
        })
        .await;
        cache
    }

    /// A session of a new account.
    async fn session(&self) -> SessionDigest {
        begun(&self.stores, &self.stores.sign_up().await).await.digest
    }

    fn asked(&self) -> usize {
        self.backend.asked.load(Ordering::SeqCst)
    }

    fn heard(&self) -> usize {
        self.backend.heard.load(Ordering::SeqCst)
    }
}

async fn who(cache: &CachedAccounts, session: SessionDigest) -> Result<Reply> {
    cache.call(Call::Who(session)).await
}

#[tokio::test]
async fn a_session_is_asked_for_once_and_forgotten_when_it_ends_elsewhere() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let store = &*fixture.stores.accounts;
    for kind in [EventKind::Banned, EventKind::SignedOut, EventKind::Deleted] {
        let account = fixture.stores.sign_up().await;
        let session = begun(&fixture.stores, &account).await;
        assert!(who(&cache, session.digest).await.is_ok());
        let before = fixture.asked();
        for _ in 0..100 {
            assert!(who(&cache, session.digest).await.is_ok());
        }
        assert_eq!(fixture.asked(), before);
        match kind {
            EventKind::Banned => {
                let change =
                    AccountChange { ending: Some(Ending::All), ..AccountChange::default() };
                store.change(change, event(account.id, kind, 1)).await.unwrap();
            }
            EventKind::SignedOut => {
                let id = session.session.id;
                fixture.stores.sessions.end(account.id, id, at(1)).await.unwrap();
            }
            _ => drop(store.remove(event(account.id, kind, 1)).await.unwrap().unwrap()),
        }
        until("it is forgotten", async || who(&cache, session.digest).await.is_err()).await;
    }
}

#[tokio::test]
async fn where_nothing_is_to_be_remembered_the_backend_is_asked_each_time() {
    let fixture = Fixture::new();
    let cache = fixture.following(Duration::ZERO);
    let session = fixture.session().await;
    let heard = fixture.heard();
    until("the feed is heard, as where it is trusted", async || fixture.heard() > heard + 1).await;
    let before = fixture.asked();
    for _ in 0..100 {
        assert!(who(&cache, session).await.is_ok());
    }
    assert_eq!(fixture.asked(), before + 100);
}

#[tokio::test]
async fn what_is_ended_here_is_over_at_once() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let account = fixture.stores.sign_up().await;
    let (one, other) = (
        begun(&fixture.stores, &account).await.digest,
        begun(&fixture.stores, &account).await.digest,
    );
    assert!(who(&cache, one).await.is_ok() && who(&cache, other).await.is_ok());
    cache.call(Call::Own { session: one, wish: Own::SignOutEverywhere }).await.unwrap();
    assert!(who(&cache, one).await.is_err() && who(&cache, other).await.is_err());
}

#[tokio::test]
async fn what_is_remembered_expires_by_the_clock() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let session = fixture.session().await;
    assert!(who(&cache, session).await.is_ok());
    fixture.clock.advance_seconds(3600);
    assert!(matches!(who(&cache, session).await, Err(Error::Unauthenticated(_))));
}

#[tokio::test]
async fn who_hears_nothing_trusts_nothing() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let session = fixture.session().await;
    assert!(who(&cache, session).await.is_ok());
    fixture.backend.cut_off.store(true, Ordering::SeqCst);
    until("it trusts no longer", async || who(&cache, session).await.is_err()).await;
    fixture.backend.cut_off.store(false, Ordering::SeqCst);
    assert!(who(&cache, session).await.is_ok());
}

/// After a restore of an older file, or with a second process that has another one.
#[tokio::test]
async fn in_another_database_nothing_is_remembered_of_the_first() {
    for happened in [0, 50] {
        let fixture = Fixture::new();
        let cache = fixture.cache().await;
        let session = fixture.session().await;
        assert!(who(&cache, session).await.is_ok());
        let (other, _folder) = open();
        for _ in 0..happened {
            made(&*other.accounts(), &fresh_name()).await;
        }
        *fixture.backend.accounts.write() = service(&other, &fixture.clock, &fixture.failures);
        until("it is forgotten", async || who(&cache, session).await.is_err()).await;
    }
}

/// A place in the feed of a file is none in the feed of what the file becomes.
#[tokio::test]
async fn a_file_that_was_closed_meanwhile_may_be_an_older_one() {
    let (engine, folder) = open();
    made(&*engine.accounts(), &fresh_name()).await;
    let place = engine.sessions().changed_since(None).await.unwrap().place;
    engine.close().await.unwrap();
    let engine = Sqlite::open(folder.path(), &lodge_sqlite::Options::default()).unwrap();
    let told = engine.sessions().changed_since(Some(place)).await.unwrap();
    assert!(told.begins_anew);
}

/// Somebody who guesses.
fn guess(name: &str) -> SignIn {
    SignIn {
        username: name.to_owned(),
        password: Password::parse("password", "a guess".to_owned()).unwrap(),
        from: Some([192, 0, 2, 1].into()),
        agent: String::new(),
    }
}

#[tokio::test]
async fn what_nobody_stayed_to_hear_is_no_failure() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let username = fresh_name();
    let first = NewPassword::parse("password", "a lantern".into(), &username).unwrap();
    let account = accounts.create(username, first, Role::Member).await.unwrap();
    let name = account.username.as_str();
    for _ in 0..30 {
        // Polled once, so that it is counted, and given up.
        let mut asked = Box::pin(accounts.sign_in(guess(name)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        drop(asked);
    }
    for _ in 0..10 {
        let wrong = accounts.sign_in(guess(name)).await;
        assert!(matches!(wrong, Err(Error::Unauthenticated(_))), "{wrong:?}");
    }
    let late = accounts.sign_in(guess(name)).await;
    assert!(matches!(late, Err(Error::TooMany { .. })), "{late:?}");
}

#[tokio::test]
async fn a_code_is_good_while_its_name_is_locked() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let account = fixture.stores.sign_up().await;
    let code = accounts.issue_reset(&account, Actor::Operator).await.unwrap();
    let name = account.username;
    while fixture.failures.count(name.as_str(), None, at(10)).await.is_ok() {}
    let locked = accounts.sign_in(guess(name.as_str())).await;
    assert!(matches!(locked, Err(Error::TooMany { .. })), "{locked:?}");
    let new = || NewPassword::parse("new", "another in the fog".into(), &name).unwrap();
    for _ in 0..20 {
        let wrong = accounts.reset_password(&name, "a guess", new()).await;
        assert!(matches!(wrong, Err(Error::Forbidden(_))), "{wrong:?}");
    }
    accounts.reset_password(&name, code.reveal(), new()).await.unwrap();
}

#[tokio::test]
async fn staff_have_no_say_over_whoever_is_raised_meanwhile() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let store = &*fixture.stores.accounts;
    let (staff, read) = (fixture.stores.sign_up().await, fixture.stores.sign_up().await);
    accounts.set_role(&read, Role::Admin, Actor::Operator).await.unwrap();
    let by = Actor::Staff(staff.id);
    let picture = PictureId::stored([7; 32]);
    let set = AccountChange { picture: Some(Some(picture)), ..AccountChange::default() };
    store.change(set, event(read.id, EventKind::PictureChanged, 1)).await.unwrap().unwrap();
    for outcome in [
        accounts.ban(&read, by).await.map(drop),
        accounts.unban(&read, by).await.map(drop),
        accounts.set_role(&read, Role::Member, by).await.map(drop),
        accounts.issue_reset(&read, by).await.map(drop),
        accounts.take_picture(&read, by).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(Error::Conflict(_))), "{outcome:?}");
    }
    let now = accounts.user(&read.username).await.unwrap();
    assert_eq!((now.role, now.banned_at, now.picture), (Role::Admin, None, Some(picture)));
}
