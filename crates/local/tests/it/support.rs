//! What the tests share.

use std::time::{Duration, Instant};

use lodge_contract::AccountsFixture;
use lodge_sqlite::{Options, Sqlite};
use tempfile::TempDir;

/// An engine on a new folder.
pub(crate) fn open() -> (Sqlite, TempDir) {
    let folder = TempDir::new().unwrap();
    let engine = Sqlite::open(folder.path(), &Options::default()).unwrap();
    (engine, folder)
}

/// The accounts' stores of an engine.
pub(crate) fn account_stores(engine: &Sqlite) -> AccountsFixture {
    AccountsFixture {
        accounts: engine.accounts(),
        sessions: engine.sessions(),
        identities: engine.identities(),
    }
}

/// Waits for something that must come true within ten seconds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::task::yield_now().await;
    }
}
