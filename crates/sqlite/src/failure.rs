//! Errors of work on a connection, and their conversion to errors for callers.

use std::sync::Arc;

use lodge_domain::Error;
use rusqlite::ErrorCode;

/// Why work on a connection failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A domain rule refused it.
    Refused(Error),
    /// The database failed.
    Sqlite(rusqlite::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<lodge_sql::Failure> for Failure {
    fn from(failure: lodge_sql::Failure) -> Self {
        Self::Refused(failure.into())
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Refused(Error::internal(error))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Sqlite(error) => from_sqlite(error),
        }
    }
}

/// Converts an error: temporary ones (a full disk, a lock) become `Unavailable`, others are defects (`Internal`).
pub(crate) fn from_sqlite(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::ReadOnly,
        ) => Error::unavailable(error),
        _ => Error::internal(error),
    }
}

/// An error shared by all callers of a group.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SharedError(pub(crate) Arc<dyn std::error::Error + Send + Sync>);

/// Why the engine did not accept a request.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum NotAccepted {
    #[error("the database queue for {0} is full")]
    Full(&'static str),
    #[error("the data folder is closed, or its {0} has failed")]
    Closed(&'static str),
    #[error("the database queue for {0} is full, or the data folder is closed")]
    FullOrClosed(&'static str),
}

impl SharedError {
    /// Returns an error with this text.
    pub(crate) fn from_text(what: &'static str) -> Self {
        Self(Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(what)))
    }
}
