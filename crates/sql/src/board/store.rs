//! The board in a database.

use std::sync::Arc;

use lodge_domain::{Result, board::Origin};

use super::WordIndex;
use crate::{App, Database, Failure, Reads, Tx};

/// The board in a database, written to by one origin.
pub struct SqlBoard<D> {
    pub(super) database: Arc<D>,
    pub(super) origin: Origin,
    pub(super) words: &'static dyn WordIndex,
}

impl<D: Database> SqlBoard<D> {
    /// The board of `database`, whose index of words is `words`, for the origin that writes there.
    pub fn new(database: Arc<D>, origin: Origin, words: &'static dyn WordIndex) -> Self {
        Self { database, origin, words }
    }

    /// Reads what is all of one moment.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.database.read(App::Board, Reads::Snapshot, work).await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.database.write(App::Board, work).await
    }
}
