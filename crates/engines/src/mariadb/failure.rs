//! Errors of the driver, mapped to [`Failure`].

use std::{error::Error as _, io};

use lodge_domain::Error;
use lodge_sql::Failure;

/// Error numbers of the MariaDB manual.
mod code {
    pub(super) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(super) const DISK_FULL: u16 = 1021;
    pub(super) const RECORD_CHANGED: u16 = 1020;
    pub(super) const NODE_NOT_READY: u16 = 1047;
    pub(super) const SHUTDOWN: u16 = 1053;
    pub(super) const DUPLICATE: u16 = 1062;
    pub(super) const TABLE_FULL: u16 = 1114;
    pub(super) const TOO_MANY_OF_USER: u16 = 1203;
    pub(super) const LOCK_WAIT: u16 = 1205;
    pub(super) const DEADLOCK: u16 = 1213;
    pub(super) const UNKNOWN_COLLATION: u16 = 1273;
    pub(super) const READ_ONLY: u16 = 1290;
    pub(super) const INTERRUPTED: u16 = 1317;
    pub(super) const KILLED: u16 = 1927;
    pub(super) const STATEMENT_TIME: u16 = 1969;
}

/// Whether a row with the same unique key exists.
pub(super) fn is_duplicate(error: &mysql::Error) -> bool {
    number(error) == Some(code::DUPLICATE)
}

/// Whether the server lacks the collation of Lodge's texts, which is MariaDB's.
pub(super) fn is_unknown_collation(error: &mysql::Error) -> bool {
    number(error) == Some(code::UNKNOWN_COLLATION)
}

/// Whether the connection must be replaced: it broke, or its server no longer serves writes.
pub(super) fn is_lost(error: &mysql::Error) -> bool {
    number(error).is_none_or(|number| {
        matches!(number, code::NODE_NOT_READY | code::SHUTDOWN | code::READ_ONLY | code::KILLED)
    })
}

/// Whether the connection broke, or its server left, while a statement ran: its transaction is rolled back and can run
/// again at once. After a timeout it cannot: the server may still be running the statement.
pub(super) fn is_broken(error: &mysql::Error) -> bool {
    let io = match error {
        mysql::Error::IoError(error) => Some(error),
        mysql::Error::CodecError(error) => error.source().and_then(|cause| cause.downcast_ref()),
        _ => None,
    };
    let is_timeout = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    io.is_some_and(|error| !is_timeout(error))
        || matches!(number(error), Some(code::NODE_NOT_READY | code::SHUTDOWN | code::KILLED))
}

/// Maps an error of the driver to the failure that a transaction returns.
pub(super) fn failure(error: mysql::Error) -> Failure {
    match number(&error) {
        Some(code::DEADLOCK | code::LOCK_WAIT | code::RECORD_CHANGED) => {
            Failure::Deadlock(error.into())
        }
        None
        | Some(
            code::TOO_MANY_CONNECTIONS
            | code::TOO_MANY_OF_USER
            | code::DISK_FULL
            | code::TABLE_FULL
            | code::NODE_NOT_READY
            | code::SHUTDOWN
            | code::READ_ONLY
            | code::INTERRUPTED
            | code::KILLED
            | code::STATEMENT_TIME,
        ) => Error::unavailable(error).into(),
        Some(_) => Error::internal(error).into(),
    }
}

/// The server's error number; `None` if the server did not answer.
fn number(error: &mysql::Error) -> Option<u16> {
    if let mysql::Error::MySqlError(error) = error { Some(error.code) } else { None }
}
