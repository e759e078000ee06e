//! The numbers of a connection's transactions, by which the outcome of a COMMIT is found whose answer was lost.

use lodge_sql::{Failure, Statement};
use uuid::Uuid;

use super::tx::MysqlTx;

/// Stores the number in its transaction.
const STORE: &str = "INSERT INTO commits (writer, number, at) VALUES (?, ?, UNIX_TIMESTAMP()) \
                     ON DUPLICATE KEY UPDATE number = VALUES(number), at = VALUES(at)";

/// Waits for an open transaction of the writer. If that is on another node of the cluster, only one of both commits.
const FENCE: &str = "INSERT INTO commits (writer, number, fences, at) VALUES (?, 0, 1, UNIX_TIMESTAMP()) \
                     ON DUPLICATE KEY UPDATE fences = fences + 1";

const LAST: &str = "SELECT number FROM commits WHERE writer = ?";

/// Deletes rows of connections that have not written for a day, more than one process adds.
pub(super) const REMOVE_OLD: Statement = Statement::mariadb(
    "DELETE FROM commits WHERE at < UNIX_TIMESTAMP() - 86400 ORDER BY at LIMIT 1000",
);

/// The transactions of one writing connection, numbered across reconnections.
pub(super) struct Commits {
    writer: Uuid,
    /// The number of the current transaction.
    number: i64,
}

impl Commits {
    pub(super) fn new() -> Self {
        Self { writer: Uuid::new_v4(), number: 0 }
    }

    /// Gives the transaction that is open on `link` the next number, and stores it there.
    pub(super) fn number(&mut self, link: &mut MysqlTx) -> Result<(), Failure> {
        self.number += 1;
        link.exec(STORE, (self.writer.as_bytes(), self.number))
    }

    /// Whether the last numbered transaction was committed. If it was not, it cannot be committed any more.
    pub(super) fn was_committed(&self, link: &mut MysqlTx) -> Result<bool, Failure> {
        let writer = self.writer.as_bytes();
        link.run("BEGIN")?;
        link.exec(FENCE, (writer,))?;
        let last: Option<i64> = link.first(LAST, (writer,))?;
        link.run("COMMIT")?;
        Ok(last == Some(self.number))
    }
}
