//! A piece of work for a thread that owns a connection, and the way back to whoever asked for it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lodge_domain::{Error, Result};
use rusqlite::Connection;

use crate::{
    failure::{Failure, Shared},
    replies::{Replies, Reply},
};

/// A request, whatever it answers with.
pub(crate) trait Job: Send {
    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
    /// Runs it, and says whether it succeeded.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Whether it is to be run once more, in another way, after it failed and was undone.
    fn another_way(&mut self) -> bool {
        false
    }
    /// Adds what it came to, or `lost`: what happened to it and others together.
    fn answer(self: Box<Self>, lost: Option<&Shared>, replies: &mut Replies);
}

/// Runs `work`: a defect in one request must not end the thread that serves all.
///
/// # Errors
///
/// What `work` answers; [`Error::Internal`] with `panicked` if it panics.
pub(crate) fn contained<T>(
    panicked: &'static str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|_| Err(Error::internal(panicked).into())).map_err(Error::from)
}

/// A request of one type.
pub(crate) struct Request<T, W> {
    work: Option<W>,
    outcome: Option<Result<T>>,
    reply: Reply<T>,
}

impl<T, W> Request<T, W> {
    /// A request whose answer goes to `reply`.
    pub(crate) fn new(work: W, reply: Reply<T>) -> Self {
        Self { work: Some(work), outcome: None, reply }
    }
}

impl<T, W> Job for Request<T, W>
where
    T: Send + 'static,
    W: FnOnce(&Connection) -> Result<T, Failure> + Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let outcome = contained("a request to the database panicked", || work(connection));
        let succeeded = outcome.is_ok();
        self.outcome = Some(outcome);
        succeeded
    }

    fn answer(self: Box<Self>, lost: Option<&Shared>, replies: &mut Replies) {
        let outcome = match (lost, self.outcome) {
            (None, Some(outcome)) => outcome,
            (None, None) => {
                Err(Error::internal("a request to the database was answered before it ran"))
            }
            // Refusals too: they may rest on what a neighbour wrote, which is gone.
            (Some(lost), _) => Err(Error::unavailable(lost.clone())),
        };
        replies.add(self.reply, outcome);
    }
}
