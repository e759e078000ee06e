//! Helpers for the tests.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use lodge_contract::AccountsFixture;
use lodge_domain::{
    OsRandom,
    accounts::{Accounts, AccountsPorts, AccountsSettings, NoProviders},
    clock::ManualClock,
    password_hasher::PasswordHasher,
};
use lodge_local::CountedFailures;
use lodge_sqlite::{Options, Sqlite};
use tempfile::TempDir;

/// Opens an engine in a new folder.
pub(crate) fn open() -> (Sqlite, TempDir) {
    let folder = TempDir::new().unwrap();
    let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
    (engine, folder)
}

/// Returns the account stores of an engine.
pub(crate) fn account_stores(engine: &Sqlite) -> AccountsFixture {
    AccountsFixture {
        accounts: engine.accounts(),
        sessions: engine.sessions(),
        identities: engine.identities(),
        security_events: engine.security_events(),
    }
}

/// Creates the accounts service on an engine.
pub(crate) fn accounts(
    engine: &Sqlite,
    passwords: Arc<dyn PasswordHasher>,
    clock: &Arc<ManualClock>,
    failures: &Arc<CountedFailures>,
) -> Accounts {
    Accounts::new(AccountsPorts {
        store: engine.accounts(),
        sessions: engine.sessions(),
        identities: engine.identities(),
        providers: Arc::new(NoProviders),
        secret: engine.secret(),
        security_events: engine.security_events(),
        failures: Arc::clone(failures) as Arc<_>,
        passwords,
        breached: None,
        clock: Arc::clone(clock) as Arc<_>,
        random: Arc::new(OsRandom),
        settings: AccountsSettings {
            session_lifetime: SignedDuration::from_hours(1),
            session_idle: SignedDuration::from_hours(1),
            open_sign_up: true,
        },
    })
}

/// Waits for a condition for at most ten seconds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::task::yield_now().await;
    }
}
