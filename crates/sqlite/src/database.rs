//! Implements [`Database`], the port of the shared SQL stores, for the engine.

use lodge_domain::Result;
use lodge_sql::{App, Database, Failure, ReadKind, Tx};

use rusqlite::Connection;

use crate::{engine::Engine, failure, tx::SqliteTx};

impl Database for Engine {
    async fn read<T, W>(&self, app: App, reads: ReadKind, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        let readers = match (app, reads) {
            (_, ReadKind::ByKey) => &self.readers,
            (App::Board, ReadKind::Snapshot) => &self.board,
            (App::Board, ReadKind::Search) => &self.board_searches,
            (_, ReadKind::Export) => &self.exports,
            (_, ReadKind::Scan | ReadKind::Snapshot | ReadKind::Search) => &self.scans,
        };
        let work = move |connection: &Connection| Ok(work(&mut SqliteTx(connection))?);
        match reads {
            ReadKind::ByKey | ReadKind::Scan | ReadKind::Export => readers.read(app, work).await,
            ReadKind::Snapshot | ReadKind::Search => readers.read(app, in_snapshot(work)).await,
        }
    }

    async fn write<T, W>(&self, app: App, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        self.writer.write(app, move |connection| Ok(work(&mut SqliteTx(connection))?)).await
    }
}

/// Runs `work` in one read transaction, so that it reads from one snapshot.
fn in_snapshot<T>(
    work: impl Fn(&Connection) -> Result<T, failure::Failure>,
) -> impl Fn(&Connection) -> Result<T, failure::Failure> {
    move |connection| {
        let moment = connection.unchecked_transaction()?;
        let found = work(&moment)?;
        moment.finish()?;
        Ok(found)
    }
}
