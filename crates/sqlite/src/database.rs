//! The engine as the database of what is written once for every SQL database.

use lodge_domain::Result;
use lodge_sql::{App, Database, Failure, Reads, Tx};

use crate::{engine::Engine, tx::SqliteTx};

impl Database for Engine {
    async fn read<T, W>(&self, app: App, reads: Reads, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        let readers = match (app, reads) {
            (_, Reads::Few) => &self.readers,
            (App::Board, Reads::Many) => &self.board,
            (_, Reads::Many) => &self.scans,
        };
        readers.read(app, move |connection| Ok(work(&mut SqliteTx(connection))?)).await
    }

    async fn write<T, W>(&self, app: App, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        self.writer.write(app, move |connection| Ok(work(&mut SqliteTx(connection))?)).await
    }
}
