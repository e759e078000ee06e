//! What can go wrong in a piece of work on a transaction.

use lodge_domain::{Error, error::Cause};

/// Why a piece of work did not succeed; what it wrote is undone.
#[derive(Debug)]
pub enum Failure {
    /// A rule refuses it, or the database cannot do it.
    Error(Error),
    /// Another transaction was in the way: this one can run again.
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
