//! Migrations of the schema.

use std::{
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use lodge_sql::Failure;
use mysql::{Conn, prelude::Queryable as _};
use uuid::Uuid;

use super::{
    failure::{failure, is_duplicate},
    skeletons,
};

/// The migration from each version to the next. Each statement commits by itself, so each is repeatable.
const MIGRATIONS: [&str; 10] = [
    include_str!("migrations/0001_accounts.sql"),
    include_str!("migrations/0002_gates_and_passes.sql"),
    include_str!("migrations/0003_pass_profiles.sql"),
    include_str!("migrations/0004_admins.sql"),
    include_str!("migrations/0005_username_skeletons.sql"),
    include_str!("migrations/0006_key_sessions.sql"),
    include_str!("migrations/0007_commits.sql"),
    include_str!("migrations/0008_security_events.sql"),
    include_str!("migrations/0009_failures.sql"),
    include_str!("migrations/0010_authenticated_at.sql"),
];

/// The version whose migration also fills a column.
const WITHOUT_SKELETONS: usize = 4;

/// Seconds after which the migration lock of a process that died is free.
const CLAIM_SECONDS: u32 = 30;

/// How long to wait for another process that is migrating the schema.
const WAIT: Duration = Duration::from_mins(2);
const STEP: Duration = Duration::from_millis(100);

/// How long a statement is run again that is rolled back for one of another process.
const AGAIN_FOR: Duration = Duration::from_secs(10);

/// Migrates the schema to this Lodge's version; of processes that start together, one does so and the
/// others wait. The lock is a row, because `GET_LOCK` is local to one node.
pub(super) fn migrate(connection: &mut Conn) -> Result<()> {
    let holder = Uuid::new_v4();
    let mut migration = Migration { connection, holder };
    let deadline = Instant::now() + WAIT;
    migration.prepare()?;
    loop {
        let version = migration.version()?;
        let Some(missing) = MIGRATIONS.get(version..) else {
            return Err(Error::internal(format!(
                "the database has schema version {version}, made by a newer Lodge; this one supports up to {}",
                MIGRATIONS.len()
            )));
        };
        let Some(next) = missing.first() else { return Ok(()) };
        if migration.claim(version)? {
            migration.bring_up(version, next)?;
        } else if Instant::now() > deadline {
            return Err(Error::unavailable("another process is migrating the MariaDB schema"));
        } else {
            thread::sleep(STEP);
        }
    }
}

struct Migration<'c> {
    connection: &'c mut Conn,
    holder: Uuid,
}

impl Migration<'_> {
    /// Creates the row of the version and the lock.
    fn prepare(&mut self) -> Result<()> {
        self.run(
            "CREATE TABLE IF NOT EXISTS schema_version (id TINYINT NOT NULL PRIMARY KEY, \
             version INT NOT NULL, holder BINARY(16), held_until BIGINT NOT NULL) ENGINE = InnoDB",
        )?;
        let first = "INSERT INTO schema_version (id, version, held_until) VALUES (1, 0, 0)";
        repeat(|| match self.connection.query_drop(first) {
            Err(error) if is_duplicate(&error) => Ok(()),
            outcome => outcome,
        })
    }

    fn version(&mut self) -> Result<usize> {
        let version =
            self.connection.query_first("SELECT version FROM schema_version WHERE id = 1");
        let version: Option<usize> = version.map_err(failure)?;
        version.ok_or_else(|| Error::internal("table schema_version has no row"))
    }

    /// Takes the lock for the migration from this version; false if another process has it.
    fn claim(&mut self, version: usize) -> Result<bool> {
        let claim = format!(
            "UPDATE schema_version SET holder = ?, held_until = UNIX_TIMESTAMP() + {CLAIM_SECONDS} \
             WHERE id = 1 AND version = ? AND held_until < UNIX_TIMESTAMP()"
        );
        match self.connection.exec_drop(claim, (self.holder.as_bytes(), version)).map_err(failure) {
            Ok(()) => Ok(self.connection.affected_rows() == 1),
            Err(Failure::Deadlock(_)) => Ok(false),
            Err(failed) => Err(failed.into()),
        }
    }

    fn bring_up(&mut self, version: usize, statements: &str) -> Result<()> {
        for statement in statements.split(";\n").filter(|text| !text.trim().is_empty()) {
            self.run(statement)?;
        }
        if version == WITHOUT_SKELETONS {
            skeletons::fill(self.connection)?;
        }
        // If that took longer than the lock lasts, another process has run the same statements again,
        // and may have written the version.
        let note = "UPDATE schema_version SET version = ?, holder = NULL, held_until = 0 \
             WHERE id = 1 AND version = ? AND holder = ?";
        let values = (version + 1, version, self.holder.as_bytes());
        repeat(|| self.connection.exec_drop(note, values))
    }

    fn run(&mut self, statement: &str) -> Result<()> {
        repeat(|| self.connection.query_drop(statement))
    }
}

/// Runs a statement that commits by itself, again while it is rolled back for one of another process: a Galera cluster
/// does so with the loser of two that change a row at two nodes.
fn repeat(mut run: impl FnMut() -> mysql::Result<()>) -> Result<()> {
    let deadline = Instant::now() + AGAIN_FOR;
    loop {
        match run().map_err(failure) {
            Err(Failure::Deadlock(_)) if Instant::now() < deadline => thread::sleep(STEP),
            outcome => return Ok(outcome?),
        }
    }
}
