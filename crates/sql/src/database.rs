//! The port to a database that runs transactions.

use lodge_domain::Result;

use crate::{Failure, Tx};

/// The app that work is done for. Each app has its own queue and its share of the threads.
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
    /// The number of apps.
    pub const COUNT: usize = 4;

    /// Returns the app's name in errors and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Accounts => "accounts",
            Self::Rides => "rides",
            Self::Board => "board",
        }
    }
}

/// How much a read transaction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadKind {
    /// A few rows by key.
    ByKey,
    /// A list of possibly many rows; lookups by key do not wait for it.
    Scan,
    /// A page of an export; lists do not wait for it.
    Export,
    /// The content of a page, read from one snapshot.
    Snapshot,
    /// A full-text search, read from one snapshot and interrupted after a time limit.
    Search,
}

/// Runs work on a database, each write in its own transaction. Queues are bounded; when one is full, the result is
/// [`lodge_domain::Error::Unavailable`].
pub trait Database: Send + Sync + 'static {
    /// Runs work that only reads. Each statement sees every write acknowledged before.
    fn read<T, W>(
        &self,
        app: App,
        reads: ReadKind,
        work: W,
    ) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static;

    /// Runs work that writes. `Ok` means that it is committed and survives the loss of the process. An `Err` of
    /// `work` rolls it back.
    fn write<T, W>(&self, app: App, work: W) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static;
}
