//! Errors of the driver, mapped to the domain's.

use lodge_domain::{Error, error::Cause};
use scylla::errors::{
    ExecutionError, IntoRowsResultError, MaybeFirstRowError, NextRowError, PagerExecutionError,
};

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The cluster refused it, did not answer in time, or could not be reached: the outcome is unknown.
    #[error("Cassandra refused the statement or did not answer; its outcome is unknown")]
    Unknown(#[source] Cause),
    /// An answer of an unexpected type, or a value that no Lodge wrote.
    #[error("Cassandra returned an invalid value")]
    Unreadable(#[source] Cause),
    /// A refusal by the domain.
    #[error(transparent)]
    Refused(#[from] Error),
}

macro_rules! failures {
    ($($variant:ident: $($error:ty),+;)+) => {
        $($(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        })+)+
    };
}

failures! {
    Unknown: ExecutionError, PagerExecutionError, NextRowError;
    Unreadable: IntoRowsResultError, MaybeFirstRowError;
}

impl Failure {
    /// A value that no Lodge wrote.
    pub(crate) fn unreadable(table: &'static str, what: &dyn std::fmt::Display) -> Self {
        Self::Unreadable(format!("{table}: {what}").into())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Unknown(_) => Self::unavailable(failure),
            Failure::Unreadable(_) => Self::internal(failure),
        }
    }
}
