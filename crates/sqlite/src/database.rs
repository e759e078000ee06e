//! Implements [`Database`], the port of the shared SQL stores, for the engine.

use lodge_domain::Result;
use lodge_sql::{App, Database, Failure, Reads, Tx};

use rusqlite::Connection;

use crate::{engine::Engine, failure, tx::SqliteTx};

impl Database for Engine {
    async fn read<T, W>(&self, app: App, reads: Reads, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        let readers = match (app, reads) {
            (_, Reads::Few) => &self.readers,
            (App::Board, Reads::Snapshot) => &self.board,
            (App::Board, Reads::Search) => &self.board_searches,
            (_, Reads::Many | Reads::Snapshot | Reads::Search) => &self.scans,
        };
        let work = move |connection: &Connection| Ok(work(&mut SqliteTx(connection))?);
        match reads {
            Reads::Few | Reads::Many => readers.read(app, work).await,
            Reads::Snapshot | Reads::Search => readers.read(app, at_once(work)).await,
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
fn at_once<T>(
    work: impl Fn(&Connection) -> Result<T, failure::Failure>,
) -> impl Fn(&Connection) -> Result<T, failure::Failure> {
    move |connection| {
        let moment = connection.unchecked_transaction()?;
        let found = work(&moment)?;
        moment.finish()?;
        Ok(found)
    }
}
