//! Where pieces of work run.

use lodge_domain::Result;

use crate::{Failure, Tx};

/// Whose work it is. Each app has a share of what runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum App {
    /// Short links, their clicks, and API keys.
    Links,
    /// Accounts and their sessions.
    Accounts,
    /// Lift rides.
    Rides,
    /// The message board.
    Board,
}

impl App {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// Its name in errors and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Accounts => "accounts",
            Self::Rides => "rides",
            Self::Board => "board",
        }
    }
}

/// How much a piece of work reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// A few rows, by a key.
    Few,
    /// Possibly many rows; no lookup by a key waits for it.
    Many,
    /// What a page shows: all that the work reads is of one moment.
    Snapshot,
    /// Rows by their words: of one moment, too, and ended when it takes too long.
    Search,
}

/// Runs pieces of work: each that writes in a transaction of its own. Queues are bounded: past them the answer is
/// [`lodge_domain::Error::Unavailable`].
pub trait Database: Send + Sync + 'static {
    /// Runs work that only reads. Each of its statements sees every write that was answered before.
    fn read<T, W>(&self, app: App, reads: Reads, work: W) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static;

    /// Runs work that writes; `Ok` means that it is committed and survives the loss of the process. An
    /// `Err` of `work` undoes what it wrote.
    fn write<T, W>(&self, app: App, work: W) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static;
}
