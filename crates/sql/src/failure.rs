//! Errors of work in a transaction.

use lodge_domain::{Error, error::Cause};

/// Why work in a transaction failed; its writes are rolled back.
#[derive(Debug)]
pub enum Failure {
    /// A domain rule refused it, or the database failed.
    Error(Error),
    /// It conflicted with another transaction, and can run again.
    Deadlock(Cause),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Error(Error::internal(error))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error(error) => error,
            Failure::Deadlock(cause) => Error::unavailable(cause),
        }
    }
}
