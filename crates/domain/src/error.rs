//! The one error type of rules and ports. What a caller may read is in the variant; what only an
//! operator may read is the source. The web maps each variant to a status once.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

/// The result of anything that a rule or a port may refuse.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong on the other side of a port.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why something was not done. `Display` is what a caller may read. Another process gets it without its causes, which
/// are for the log here.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// A value that cannot be taken; `field` names it as the caller does.
    #[error("{field}: {reason}")]
    Invalid {
        /// The name of the field, parameter or header.
        field: Cow<'static, str>,
        /// What is wrong with it, and what would be right.
        reason: Cow<'static, str>,
    },
    /// No key was given where one is needed, or it is not known.
    #[error("{0}")]
    Unauthenticated(Cow<'static, str>),
    /// The caller is known, but this is not theirs.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(Cow<'static, str>),
    /// It was here, and is not any more.
    #[error("{0}")]
    Gone(Cow<'static, str>),
    /// Somebody else has it.
    #[error("{0}")]
    Conflict(Cow<'static, str>),
    /// It changed since the caller read it.
    #[error("it was changed by somebody else in the meantime; read it again and repeat")]
    Stale,
    /// An Idempotency-Key came back with another request.
    #[error("this Idempotency-Key was used for another request; use a new key for a new request")]
    KeyReused,
    /// The caller does this too often.
    #[error("too many requests; try again in {} s", retry_after.as_secs().max(1))]
    TooMany {
        /// How long to wait.
        retry_after: Duration,
    },
    /// It cannot be done now; the outcome is unknown or nothing was done, and a repetition with the
    /// same Idempotency-Key is safe.
    #[error("the service cannot do this right now; try again shortly")]
    Unavailable {
        /// How long to wait.
        retry_after: Duration,
        /// For the log alone.
        #[serde(skip, default = "logged_elsewhere")]
        #[source]
        cause: Cause,
    },
    /// A defect of ours.
    #[error("something went wrong on our side")]
    Internal(
        #[serde(skip, default = "logged_elsewhere")]
        #[source]
        Cause,
    ),
}

/// The cause of an error that came from another process.
fn logged_elsewhere() -> Cause {
    "the process that this came from has logged the cause".into()
}

impl Error {
    /// A value that cannot be taken.
    pub fn invalid(
        field: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }

    /// No key was given where one is needed, or it is not known.
    pub const fn unauthenticated(why: &'static str) -> Self {
        Self::Unauthenticated(Cow::Borrowed(why))
    }

    /// The caller is known, but this is not theirs.
    pub const fn forbidden(why: &'static str) -> Self {
        Self::Forbidden(Cow::Borrowed(why))
    }

    /// There is no such thing.
    pub const fn not_found(why: &'static str) -> Self {
        Self::NotFound(Cow::Borrowed(why))
    }

    /// It was here, and is not any more.
    pub const fn gone(why: &'static str) -> Self {
        Self::Gone(Cow::Borrowed(why))
    }

    /// Somebody else has it.
    pub const fn conflict(why: &'static str) -> Self {
        Self::Conflict(Cow::Borrowed(why))
    }

    /// Something that a repetition in a second may find working.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable { retry_after: Duration::from_secs(1), cause: cause.into() }
    }

    /// A defect of ours.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }
}
