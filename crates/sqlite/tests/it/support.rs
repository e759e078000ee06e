//! Helpers of the tests.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use lodge_sqlite::{Options, Sqlite};
use tempfile::{Builder, TempDir};

/// A new folder that is inaccessible to other users, as a data folder with files has to be.
pub(crate) fn private_folder() -> TempDir {
    Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

/// An engine on a new folder.
pub(crate) fn open() -> (Sqlite, TempDir) {
    open_with(&Options::default())
}

/// An engine on a new folder, with these options.
pub(crate) fn open_with(options: &Options) -> (Sqlite, TempDir) {
    let folder = TempDir::new().unwrap();
    let engine = Sqlite::open(folder.path(), options).unwrap();
    (engine, folder)
}

/// Waits for a condition; fails after ten seconds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::task::yield_now().await;
    }
}
