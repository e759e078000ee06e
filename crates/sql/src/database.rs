//! The port to a database that runs transactions.

use async_trait::async_trait;
use lodge_domain::Result;

use crate::{Failure, Returned, Tx};

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

/// Work in a transaction. It may run more than once.
pub type Work = Box<dyn Fn(&mut dyn Tx) -> Result<(), Failure> + Send>;

/// Runs work on a database, each write in its own transaction. Queues are bounded; when one is full, the result is
/// [`lodge_domain::Error::Unavailable`].
#[async_trait]
pub trait Database: Send + Sync + 'static {
    /// Runs work that only reads. Each statement sees every write acknowledged before.
    async fn run_read(&self, app: App, reads: ReadKind, work: Work) -> Result<()>;

    /// Runs work that writes. `Ok` means that it is committed and survives the loss of the process. An `Err` of
    /// `work` rolls it back.
    async fn run_write(&self, app: App, work: Work) -> Result<()>;
}

impl dyn Database {
    /// Returns the result of work that only reads; see [`Self::run_read`].
    pub async fn read<T: Send + 'static>(
        &self,
        app: App,
        reads: ReadKind,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let returned = Returned::default();
        self.run_read(app, reads, returned.work(work)).await?;
        returned.take()
    }

    /// Returns the result of work that writes; see [`Self::run_write`].
    pub async fn write<T: Send + 'static>(
        &self,
        app: App,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let returned = Returned::default();
        self.run_write(app, returned.work(work)).await?;
        returned.take()
    }
}
