//! The error type of all rules and ports. The variant holds what the client may read; the source is for the log
//! only. The web crate maps each variant to an HTTP status in one place.

use std::{borrow::Cow, iter::successors, time::Duration};

use serde::{Deserialize, Serialize};

/// The result of a rule or a port.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The underlying error of an engine, behind a port.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation failed. `Display` is the text for the client. When sent to another process it carries no cause,
/// which is logged here.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// An invalid value; `field` is its name in the request.
    #[error("{field}: {reason}")]
    Invalid {
        /// The name of the field, parameter or header.
        field: Cow<'static, str>,
        /// What is wrong with the value, and what would be right.
        reason: Cow<'static, str>,
    },
    /// The request carries no credential, or an unknown one.
    #[error("{0}")]
    Unauthenticated(Cow<'static, str>),
    /// The caller is authenticated but not allowed to do this.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// The resource does not exist.
    #[error("{0}")]
    NotFound(Cow<'static, str>),
    /// The resource existed and has ended or been deleted.
    #[error("{0}")]
    Gone(Cow<'static, str>),
    /// The request conflicts with the current state, such as a name that is taken.
    #[error("{0}")]
    Conflict(Cow<'static, str>),
    /// The resource has changed since the client read it.
    #[error("this has changed since you read it; read it again, and repeat your change")]
    Stale,
    /// An `Idempotency-Key` was used again with another request.
    #[error("this Idempotency-Key was used for another request; use a new key for a new request")]
    KeyReused,
    /// The caller exceeds a rate limit.
    #[error("too many requests; try again in {} s", whole_seconds(*retry_after))]
    TooMany {
        /// How long the client should wait before it retries.
        retry_after: Duration,
    },
    /// A temporary failure: nothing was done, or the outcome is unknown. A retry with the same `Idempotency-Key` is
    /// safe.
    #[error("the service is temporarily unavailable; try again shortly")]
    Unavailable {
        /// How long the client should wait before it retries.
        retry_after: Duration,
        /// The cause, for the log only.
        #[serde(skip, default = "logged_elsewhere")]
        #[source]
        cause: Cause,
    },
    /// A bug in Lodge.
    #[error("internal server error")]
    Internal(
        #[serde(skip, default = "logged_elsewhere")]
        #[source]
        Cause,
    ),
}

/// Returns the cause to show for an error received from another process.
fn logged_elsewhere() -> Cause {
    "the cause is in the log of the process that sent this error".into()
}

impl Error {
    /// Creates [`Error::Invalid`].
    pub fn invalid(
        field: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }

    /// Creates [`Error::Unauthenticated`].
    pub const fn unauthenticated(why: &'static str) -> Self {
        Self::Unauthenticated(Cow::Borrowed(why))
    }

    /// Creates [`Error::Forbidden`].
    pub const fn forbidden(why: &'static str) -> Self {
        Self::Forbidden(Cow::Borrowed(why))
    }

    /// Creates [`Error::NotFound`].
    pub const fn not_found(why: &'static str) -> Self {
        Self::NotFound(Cow::Borrowed(why))
    }

    /// Creates [`Error::Gone`].
    pub const fn gone(why: &'static str) -> Self {
        Self::Gone(Cow::Borrowed(why))
    }

    /// Creates [`Error::Conflict`].
    pub const fn conflict(why: &'static str) -> Self {
        Self::Conflict(Cow::Borrowed(why))
    }

    /// Creates [`Error::Unavailable`] with a retry after one second.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable { retry_after: Duration::from_secs(1), cause: cause.into() }
    }

    /// Returns the text for the log: the causes, if there are any, instead of what the client may read.
    pub fn log_text(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => chain(cause),
            None => self.to_string(),
        }
    }

    /// Creates [`Error::Internal`].
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }
}

/// Joins an error with its causes. Drivers repeat the text of a cause at several levels; each text is included once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in successors(error.source(), |cause| cause.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Rounds a waiting time up to whole seconds, at least 1.
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_each_cause_once_and_the_client_has_no_cause() {
        let error = Error::unavailable(Error::internal(Error::internal("a disk failed")));
        assert_eq!(error.log_text(), "internal server error: a disk failed");
        assert!(!error.to_string().contains("disk"));
        assert_eq!(Error::not_found("no such link").log_text(), "no such link");
    }
}
