//! How a request ended, and what the client knows about a write.

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum ErrorKind {
    /// A response with a status that does not count as success.
    #[error("status {0}")]
    Status(u16),
    /// No complete response before the deadline.
    #[error("timeout")]
    Timeout,
    /// The connection could not be established.
    #[error("connect")]
    Connect,
    /// The connection broke before the response was complete.
    #[error("reset")]
    Reset,
    /// The response was not HTTP/1.1.
    #[error("malformed answer")]
    Malformed,
    /// A redirect to another target than the link's.
    #[error("wrong target")]
    WrongTarget,
    /// No connection was free between the due time and the deadline, or the run was stopped.
    #[error("not sent")]
    NotSent,
}

/// What the client knows about a write. Ordered: the outcome of several tries is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum WriteOutcome {
    /// Refused, or never sent: the server must not have stored it.
    Refused,
    /// Timeout, lost connection, 5xx or a malformed response: it may have been stored.
    Unknown,
    /// The response was a success: it must be stored.
    Acknowledged,
}

impl WriteOutcome {
    /// Classifies a result. `sent`: whether any byte of the request left the client.
    pub(crate) fn of(result: Result<(), ErrorKind>, sent: bool) -> Self {
        match result {
            Ok(()) => Self::Acknowledged,
            Err(ErrorKind::Status(300..=499) | ErrorKind::Connect | ErrorKind::NotSent) => {
                Self::Refused
            }
            Err(_) if !sent => Self::Refused,
            Err(_) => Self::Unknown,
        }
    }
}

/// Counts of writes by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Outcomes {
    pub(crate) acknowledged: u64,
    /// Refused or never sent.
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
}

impl Outcomes {
    pub(crate) fn count(&mut self, outcome: WriteOutcome) {
        *match outcome {
            WriteOutcome::Acknowledged => &mut self.acknowledged,
            WriteOutcome::Refused => &mut self.refused,
            WriteOutcome::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// Returns whether a retry of the same request may have another result.
pub(crate) fn worth_retrying(result: Result<(), ErrorKind>) -> bool {
    !matches!(result, Ok(()) | Err(ErrorKind::Status(..=499)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_success_is_acknowledged_and_a_refusal_is_not_retried() {
        use WriteOutcome::{Acknowledged, Refused, Unknown};
        for (result, sent, expected, again) in [
            (Ok(()), true, Acknowledged, false),
            (Err(ErrorKind::Status(400)), true, Refused, false),
            (Err(ErrorKind::Status(404)), true, Refused, false),
            (Err(ErrorKind::Status(500)), true, Unknown, true),
            (Err(ErrorKind::Status(503)), true, Unknown, true),
            (Err(ErrorKind::Status(202)), true, Unknown, false),
            (Err(ErrorKind::Status(409)), true, Refused, false),
            (Err(ErrorKind::Status(307)), true, Refused, false),
            (Err(ErrorKind::Timeout), true, Unknown, true),
            (Err(ErrorKind::Timeout), false, Refused, true),
            (Err(ErrorKind::Reset), true, Unknown, true),
            (Err(ErrorKind::Malformed), true, Unknown, true),
            (Err(ErrorKind::Connect), false, Refused, true),
            (Err(ErrorKind::NotSent), false, Refused, true),
        ] {
            assert_eq!(WriteOutcome::of(result, sent), expected, "{result:?}");
            assert_eq!(worth_retrying(result), again, "{result:?}");
        }
    }
}
