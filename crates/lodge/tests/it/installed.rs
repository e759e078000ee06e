//! Installs packages of other languages that tests need, at the versions of a lock file.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::server::Process;

/// How long an installation may take.
pub(crate) const INSTALL_DEADLINE: Duration = Duration::from_mins(3);

/// Returns a folder with the files of `tests/<name>` and the packages of `install`, which runs again when the
/// lock file has changed.
pub(crate) fn installed(name: &str, lock_file: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&to).unwrap();
    // Concurrent test processes install one at a time.
    let lock = File::create(to.join(".lock")).unwrap();
    lock.lock().unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    let (wanted, kept) = (to.join(lock_file), to.join("installed"));
    if fs::read(&wanted).unwrap() != fs::read(&kept).unwrap_or_default() {
        install(&to);
        fs::copy(wanted, kept).unwrap();
    }
    to
}

/// Installs the packages of a `package-lock.json`.
pub(crate) fn npm_ci(folder: &Path) {
    let npm = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .spawn();
    let mut npm = npm.map_or_else(|error| panic!("npm, which these tests need: {error}"), Process);
    let status = npm.wait(INSTALL_DEADLINE);
    assert!(status.success(), "npm ci: {status}");
}
