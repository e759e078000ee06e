//! The board's store.

use std::sync::Arc;

use lodge_domain::{Result, board::Origin};

use super::WordIndex;
use crate::{App, Database, Failure, ReadKind, Tx};

/// The board's store in a database, writing as one origin.
pub struct SqlBoard {
    pub(super) database: Arc<dyn Database>,
    pub(super) origin: Origin,
    pub(super) words: &'static dyn WordIndex,
}

impl SqlBoard {
    /// Returns the store in `database` that writes as `origin`, with the full-text index `words`.
    pub fn new(database: Arc<dyn Database>, origin: Origin, words: &'static dyn WordIndex) -> Self {
        Self { database, origin, words }
    }

    /// Reads from one snapshot.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.database.read(App::Board, ReadKind::Snapshot, work).await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.database.write(App::Board, work).await
    }
}
