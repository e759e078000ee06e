//! Implements [`Database`], the port of the shared SQL stores, for the engine.

use async_trait::async_trait;
use lodge_domain::Result;
use lodge_sql::{App, Database, ReadKind, Work};
use rusqlite::Connection;

use crate::{engine::Engine, tx::SqliteTx};

#[async_trait]
impl Database for Engine {
    async fn run_read(&self, app: App, reads: ReadKind, work: Work) -> Result<()> {
        let readers = match (app, reads) {
            (_, ReadKind::ByKey) => &self.readers,
            (App::Board, ReadKind::Snapshot) => &self.board,
            (App::Board, ReadKind::Search) => &self.board_searches,
            (_, ReadKind::Export) => &self.exports,
            (_, ReadKind::Scan | ReadKind::Snapshot | ReadKind::Search) => &self.scans,
        };
        let is_snapshot = matches!(reads, ReadKind::Snapshot | ReadKind::Search);
        let work = move |connection: &Connection| {
            // One read transaction reads from one snapshot.
            let snapshot = is_snapshot.then(|| connection.unchecked_transaction()).transpose()?;
            work(&mut SqliteTx(connection))?;
            if let Some(snapshot) = snapshot {
                snapshot.finish()?;
            }
            Ok(())
        };
        readers.run(app, Box::new(work)).await
    }

    async fn run_write(&self, app: App, work: Work) -> Result<()> {
        let work = move |connection: &Connection| Ok(work(&mut SqliteTx(connection))?);
        self.writer.run(app, Box::new(work)).await
    }
}
