//! Accounts that are created once and kept in `target/bench`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use lodge_testbed::{Layout, OwnMariadb};

use super::lodge::Lodge;
use crate::process;

/// The file with the output of the creation, with the size on disk.
const SEED_OUTPUT: &str = "said.txt";

/// The memory of MariaDB for pages of data, and the size of its log, in bytes: as the owner of ten million accounts
/// would set them.
const BUFFER_POOL: u64 = 4 << 30;
const LOG_FILE: u64 = 1 << 30;

/// The store of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// In the data folder.
    Sqlite,
    /// A MariaDB server.
    Mariadb,
}

/// Seeded accounts, and their database server, if they have one, which ends with this.
pub(crate) struct Seeded {
    program: PathBuf,
    folder: PathBuf,
    database: Option<OwnMariadb>,
}

impl Seeded {
    /// Creates so many accounts and sessions with `program`, unless they exist. Remove `target/bench` after some weeks:
    /// sessions last 30 days.
    pub(crate) fn open(store: Store, users: u64, sessions: u64, program: &Path) -> Result<Self> {
        let of = if store == Store::Mariadb { "-mariadb" } else { "" };
        let folder = process::root().join(format!("target/bench/accounts{of}-{users}-{sessions}"));
        let note = folder.join(SEED_OUTPUT);
        let is_new = !note.exists();
        if is_new && folder.exists() {
            // It was interrupted.
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let database = (store == Store::Mariadb).then(|| database(&folder)).transpose()?;
        let seeded = Self { program: program.to_owned(), folder, database };
        if is_new {
            println!("creating {users} accounts in {}", seeded.folder.display());
            let said = seeded.create(users, sessions)?;
            fs::write(&note, said).with_context(|| format!("cannot write {}", note.display()))?;
        }
        Ok(seeded)
    }

    fn create(&self, users: u64, sessions: u64) -> Result<String> {
        let mut said = self.lodge().seed(users, sessions)?;
        if let Some(database) = &self.database {
            let bytes = database.bytes()?;
            writeln!(said, "{bytes} bytes in MariaDB, {} per account", bytes / users)?;
        }
        Ok(said)
    }

    /// Returns a Lodge with these accounts alone, whose sessions' tokens are in the file `tokens`.
    pub(crate) fn lodge(&self) -> Lodge {
        let lodge = Lodge::of(&self.program, self.folder.clone()).with_all(self.settings());
        lodge.with("LODGE_APPS", "accounts")
    }

    /// Returns the settings of a process that stores these accounts.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let Some(database) = &self.database else { return Vec::new() };
        vec![
            ("LODGE_ACCOUNTS_STORE", "mariadb".to_owned()),
            ("LODGE_MARIADB_NODES", database.address()),
            ("LODGE_MARIADB_PASSWORD_FILE", database.password_file().display().to_string()),
        ]
    }

    /// Returns the folder with the data folder `data` and the file `tokens`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads what was printed when the accounts were created.
    pub(crate) fn said(&self) -> Result<String> {
        Ok(fs::read_to_string(self.folder.join(SEED_OUTPUT))?)
    }

    /// Stops the database server cleanly.
    pub(crate) fn close(self) -> Result<()> {
        self.database.map_or(Ok(()), OwnMariadb::stop)
    }
}

/// Starts the database server.
fn database(folder: &Path) -> Result<OwnMariadb> {
    let folder = folder.join("mariadb");
    fs::create_dir_all(&folder)?;
    let database = OwnMariadb::start(&folder, Layout::of(&process::root()).cache())?;
    database.set("innodb_buffer_pool_size", BUFFER_POOL)?;
    database.set("innodb_log_file_size", LOG_FILE)?;
    Ok(database)
}
