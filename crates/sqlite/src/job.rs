//! Jobs for a thread that owns a connection, with the channel for the reply.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lodge_domain::{Error, Result};
use lodge_sql::Returned;
use rusqlite::Connection;

use crate::{
    failure::{Failure, SharedError},
    replies::{Replies, Reply},
};

/// A request, whatever its result type.
pub(crate) trait Job: Send {
    /// Whether the caller has stopped waiting.
    fn is_abandoned(&self) -> bool;
    /// Runs the job; returns whether it succeeded.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Whether to run the job again in its fallback mode, after it failed and was rolled back.
    fn try_fallback(&mut self) -> bool {
        false
    }
    /// Adds the job's reply: its outcome, or the error `lost` of the whole group.
    fn answer(self: Box<Self>, lost: Option<&SharedError>, replies: &mut Replies);
}

/// Runs `work` and catches a panic, which must not end the thread.
///
/// # Errors
///
/// Errors of `work`; [`Error::Internal`] with the text `panicked` if it panics.
pub(crate) fn catch_panic<T>(
    panicked: &'static str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|_| Err(Error::internal(panicked).into())).map_err(Error::from)
}

/// Returns `work` as work that leaves its result in `returned`.
pub(crate) fn leaving<T: Send + 'static>(
    returned: &Returned<T>,
    work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
) -> Work {
    let returned = returned.clone();
    Box::new(move |connection| work(connection).map(|result| returned.set(result)))
}

/// A [`Job`] made of a closure.
pub(crate) struct Request {
    work: Option<Work>,
    outcome: Option<Result<()>>,
    reply: Reply<()>,
}

/// Work on a connection, which leaves its result to its caller.
pub(crate) type Work = Box<dyn FnOnce(&Connection) -> Result<(), Failure> + Send>;

impl Request {
    /// Returns a request that replies to `reply`.
    pub(crate) fn new(work: Work, reply: Reply<()>) -> Self {
        Self { work: Some(work), outcome: None, reply }
    }
}

impl Job for Request {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let outcome = catch_panic("a request to the database panicked", || work(connection));
        let succeeded = outcome.is_ok();
        self.outcome = Some(outcome);
        succeeded
    }

    fn answer(self: Box<Self>, lost: Option<&SharedError>, replies: &mut Replies) {
        let outcome = match (lost, self.outcome) {
            (None, Some(outcome)) => outcome,
            (None, None) => Err(Error::internal("a request to the database ended before it ran")),
            // Refusals, too: they may depend on writes of the same group, which are lost.
            (Some(lost), _) => Err(Error::unavailable(lost.clone())),
        };
        replies.add(self.reply, outcome);
    }
}
