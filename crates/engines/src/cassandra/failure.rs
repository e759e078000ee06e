//! What the driver says, in the domain's terms.

use lodge_domain::{Error, error::Cause};
use scylla::errors::{
    ExecutionError, IntoRowsResultError, MaybeFirstRowError, NextRowError, PagerExecutionError,
};

/// Why a statement brought nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The cluster refused it, did not answer in time, or could not be reached: whether it was done is
    /// not known.
    #[error("Cassandra did not carry it out, as far as is known")]
    Unknown(#[source] Cause),
    /// An answer that does not fit the question, or a value that no Lodge wrote.
    #[error("Cassandra answered what cannot be read")]
    Unreadable(#[source] Cause),
    /// A rule's own refusal.
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
