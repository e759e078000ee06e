//! How a request ended, and what its client may conclude about a write.

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum ErrorKind {
    /// An answer, but not one that counts as success.
    #[error("status {0}")]
    Status(u16),
    /// No whole answer before the deadline.
    #[error("timeout")]
    Timeout,
    /// No connection.
    #[error("connect")]
    Connect,
    /// The connection broke before the whole answer was here.
    #[error("reset")]
    Reset,
    /// What came was not HTTP/1.1.
    #[error("malformed answer")]
    Malformed,
    /// A redirect to another place than asked for.
    #[error("wrong target")]
    WrongTarget,
    /// Due, but no connection was free before the deadline, or the run was stopped.
    #[error("not sent")]
    NotSent,
}

/// What the client may conclude from what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum WriteOutcome {
    /// Refused, or never sent: the server need not have it.
    Refused,
    /// Timeout, lost connection, 5xx, garbage: it may have been stored or not.
    Unknown,
    /// Success was answered: it must be there.
    Acknowledged,
}

impl WriteOutcome {
    /// `sent`: whether any byte of the request left the client.
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

/// How many writes had which outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Outcomes {
    pub(crate) acknowledged: u64,
    /// And those that were never sent.
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

/// Whether `result` may be another one if the same is sent once more.
pub(crate) fn worth_retrying(result: Result<(), ErrorKind>) -> bool {
    !matches!(result, Ok(()) | Err(ErrorKind::Status(..=499)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_success_is_acknowledged_doubt_is_unknown_and_a_refusal_is_not_retried() {
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
