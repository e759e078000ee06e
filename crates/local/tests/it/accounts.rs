//! The session cache while other processes end sessions.

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
        AccountChange, AccountEventKind, Accounts, Backend, Call, EndSessions, NewAccount,
        NewPassword, OwnAccountCall, PictureId, Reply, Role, SessionDigest, SignIn,
    },
    clock::ManualClock,
    failures::Failures as _,
    passwords::Password,
};
use lodge_local::{Argon2Pool, CachedAccounts, CountedFailures};
use lodge_sqlite::Sqlite;
use parking_lot::RwLock;
use tempfile::TempDir;

use crate::support::{account_stores, accounts, open, until};

/// A backend that counts session lookups and polls of the feed, can be cut off, and can switch to another database.
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
        if let Call::Who { .. } = call {
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

    /// Creates a cache that follows the feed, like that of another process.
    fn following(&self, kept: Duration) -> Arc<CachedAccounts> {
        let backend = Arc::clone(&self.backend) as Arc<dyn Backend>;
        let cache = CachedAccounts::new(backend, Arc::clone(&self.clock) as Arc<_>);
        let cache = Arc::new(cache.with_ttl(kept));
        let following = Arc::clone(&cache);
        tokio::spawn(async move { following.follow().await });
        cache
    }

    /// As [`Self::following`], once it has begun to cache.
    async fn cache(&self) -> Arc<CachedAccounts> {
        let cache = self.following(Duration::from_mins(1));
        let session = self.session().await;
        until("it caches sessions", async || {
            let before = self.asked();
            assert!(who(&cache, session).await.is_ok());
            self.asked() == before
        })
        .await;
        cache
    }

    /// Creates a session of a new account.
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
    cache.call(Call::who(session)).await
}

#[tokio::test]
async fn a_session_is_looked_up_once_and_invalidated_when_another_process_ends_it() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let store = &*fixture.stores.accounts;
    for kind in [AccountEventKind::Banned, AccountEventKind::SignedOut, AccountEventKind::Deleted] {
        let account = fixture.stores.sign_up().await;
        let session = begun(&fixture.stores, &account).await;
        assert!(who(&cache, session.digest).await.is_ok());
        let before = fixture.asked();
        for _ in 0..100 {
            assert!(who(&cache, session.digest).await.is_ok());
        }
        assert_eq!(fixture.asked(), before);
        match kind {
            AccountEventKind::Banned => {
                let change =
                    AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
                store.change(change, event(account.id, kind, 1)).await.unwrap();
            }
            AccountEventKind::SignedOut => {
                let id = session.session.id;
                fixture.stores.sessions.end(account.id, id, at(1)).await.unwrap();
            }
            _ => drop(store.remove(event(account.id, kind, 1)).await.unwrap().unwrap()),
        }
        until("it is invalidated", async || who(&cache, session.digest).await.is_err()).await;
    }
}

#[tokio::test]
async fn with_a_disabled_cache_every_lookup_goes_to_the_backend() {
    let fixture = Fixture::new();
    let cache = fixture.following(Duration::ZERO);
    let session = fixture.session().await;
    let heard = fixture.heard();
    until("the feed is polled, as for an enabled cache", async || fixture.heard() > heard + 1)
        .await;
    let before = fixture.asked();
    for _ in 0..100 {
        assert!(who(&cache, session).await.is_ok());
    }
    assert_eq!(fixture.asked(), before + 100);
}

#[tokio::test]
async fn a_session_ended_in_this_process_is_invalid_at_once() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    // Without a password, a session that has just begun is enough.
    let account = NewAccount::new(fresh_name(), None, at(0));
    let account = fixture.stores.accounts.add(account, None).await.unwrap().outcome.unwrap();
    let (one, other) = (
        begun(&fixture.stores, &account).await.digest,
        begun(&fixture.stores, &account).await.digest,
    );
    assert!(who(&cache, one).await.is_ok() && who(&cache, other).await.is_ok());
    let call = OwnAccountCall::SignOutEverywhere { current: None, from: None };
    cache.call(Call::Own { session: one, call }).await.unwrap();
    assert!(who(&cache, one).await.is_err() && who(&cache, other).await.is_err());
}

#[tokio::test]
async fn a_cached_session_expires_by_the_clock() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let session = fixture.session().await;
    assert!(who(&cache, session).await.is_ok());
    fixture.clock.advance_seconds(3600);
    assert!(matches!(who(&cache, session).await, Err(Error::Unauthenticated(_))));
}

#[tokio::test]
async fn without_the_feed_no_cached_session_is_trusted() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let session = fixture.session().await;
    assert!(who(&cache, session).await.is_ok());
    fixture.backend.cut_off.store(true, Ordering::SeqCst);
    until("it is no longer trusted", async || who(&cache, session).await.is_err()).await;
    fixture.backend.cut_off.store(false, Ordering::SeqCst);
    assert!(who(&cache, session).await.is_ok());
}

/// As after a restore of an older file, or with a second process on another file.
#[tokio::test]
async fn a_switch_to_another_database_clears_the_cache() {
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
        until("it is invalidated", async || who(&cache, session).await.is_err()).await;
    }
}

/// A place in the feed is invalid after the file was closed: it may have been replaced by an older one.
#[tokio::test]
async fn a_reopened_file_has_a_new_feed() {
    let (engine, folder) = open();
    made(&*engine.accounts(), &fresh_name()).await;
    let place = engine.sessions().changed_since(None).await.unwrap().place;
    engine.close().await.unwrap();
    let engine = Sqlite::open(folder.path(), &lodge_sqlite::Options::default()).unwrap();
    let changed = engine.sessions().changed_since(Some(place)).await.unwrap();
    assert!(changed.begins_anew);
}

/// A sign-in with a guessed password.
fn guess(name: &str) -> SignIn {
    SignIn {
        username: name.to_owned(),
        password: Password::parse("password", "a guess".to_owned()).unwrap(),
        from: Some([192, 0, 2, 1].into()),
        agent: String::new(),
        device: None,
    }
}

#[tokio::test]
async fn a_cancelled_sign_in_is_not_a_failure() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let username = fresh_name();
    let first = NewPassword::parse("password", "a lantern".into(), &username).unwrap();
    let account = accounts.create(username, first, Role::Member).await.unwrap();
    let name = account.username.as_str();
    for _ in 0..30 {
        // Polled once, so that it is counted, then dropped.
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
async fn a_reset_code_is_valid_while_its_name_is_locked() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let account = fixture.stores.sign_up().await;
    let code = accounts.issue_reset(&account, None).await.unwrap();
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
async fn of_two_admins_who_demote_each_other_at_once_one_stays() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let mut admins = Vec::new();
    for _ in 0..2 {
        let account = fixture.stores.sign_up().await;
        admins.push(accounts.set_role(&account, Role::Admin, None).await.unwrap());
    }
    let [one, other] = &admins[..] else { unreachable!() };
    // Each read the other as an admin, and was one itself.
    let first = accounts.set_role(other, Role::Member, Some(one)).await;
    let second = accounts.set_role(one, Role::Member, Some(other)).await;
    assert!(first.is_ok() && matches!(second, Err(Error::Conflict(_))), "{second:?}");
    assert!(fixture.stores.accounts.has_admin().await.unwrap());
}

#[tokio::test]
async fn staff_cannot_act_on_an_account_that_was_promoted_meanwhile() {
    let fixture = Fixture::new();
    let accounts = Arc::clone(&fixture.backend.accounts.read());
    let store = &*fixture.stores.accounts;
    let (staff, read) = (fixture.stores.sign_up().await, fixture.stores.sign_up().await);
    accounts.set_role(&read, Role::Admin, None).await.unwrap();
    let by = Some(&staff);
    let picture = PictureId::stored([7; 32]);
    let set = AccountChange { picture: Some(Some(picture)), ..AccountChange::default() };
    store.change(set, event(read.id, AccountEventKind::PictureChanged, 1)).await.unwrap().unwrap();
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
