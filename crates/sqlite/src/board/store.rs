//! The board in the database.

use std::sync::Arc;

use lodge_domain::{Result, board::Origin};
use lodge_sql::App;
use rusqlite::Connection;

use crate::{engine::Engine, failure::Failure};

/// The board in the database, written by one origin.
pub(crate) struct SqliteBoard {
    pub(crate) engine: Arc<Engine>,
    pub(crate) origin: Origin,
}

impl SqliteBoard {
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        // All that one question looks at is of one moment.
        let at_once = |connection: &Connection| {
            let moment = connection.unchecked_transaction()?;
            let found = work(&moment)?;
            moment.finish()?;
            Ok(found)
        };
        self.engine.board.read(App::Board, at_once).await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.engine.writer.write(App::Board, work).await
    }
}
