//! Accounts, API keys, gates and passes in MariaDB.
//!
//! Threads own a connection each: some write, some look up, some read many rows, so that none of these
//! waits for another kind. A transaction that the server gives up in favour of another one runs again.

mod connection;
mod failure;
mod options;
mod schema;
mod tx;

use std::{iter, sync::Arc, time::Instant};

use lodge_domain::{
    Error, Result,
    accounts::{AccountStore, IdentityStore, SessionStore},
    keys::KeyStore,
    rides::{GateStore, PassStore},
};
use lodge_sql::{
    App, Database, Failure, KeyTable, Reads, SqlAccounts, SqlGates, SqlIdentities, SqlKeys,
    SqlPasses, SqlSessions, Statement, Tx, Value, Workers,
};
use uuid::Uuid;

pub use options::Options;

use self::{
    connection::Connection,
    options::{Servers, Use},
};

/// An open database.
#[derive(Clone)]
pub struct MariaDb(Arc<Pools>);

struct Pools {
    writers: Workers<Connection>,
    readers: Workers<Connection>,
    scanners: Workers<Connection>,
    options: Options,
    /// The identity of the accounts' feed.
    feed: Uuid,
}

impl MariaDb {
    /// Connects, and brings the schema up to date.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no server answers; [`Error::Internal`] when a newer Lodge has made the
    /// schema. The cause says why.
    pub async fn connect(options: Options) -> Result<Self> {
        let servers = Servers::new(options.clone())?;
        let of_migration = Arc::clone(&servers);
        let migrated = tokio::task::spawn_blocking(move || {
            let mut connection = of_migration.connect(Use::Migrate).map_err(Error::unavailable)?;
            schema::migrate(&mut connection)
        });
        migrated.await.map_err(Error::internal)??;
        let start = |name, of_use, connections: usize| {
            let new = iter::repeat_with(|| Connection::new(Arc::clone(&servers), of_use));
            let workers = Workers::start(name, new.take(connections.max(1)), options.queue_per_app);
            workers.map_err(Error::unavailable)
        };
        let writers = start("mariadb-writer", Use::Write, options.writers)?;
        let readers = start("mariadb-reader", Use::Read, options.readers)?;
        let scanners = start("mariadb-scanner", Use::Read, options.scanners)?;
        let kept = writers.run(App::Accounts, |connection| connection.write(&kept_feed)).await?;
        Ok(Self(Arc::new(Pools { writers, readers, scanners, options, feed: kept })))
    }

    /// Accounts.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::new(SqlAccounts(Arc::new(self.clone())))
    }

    /// Sessions of the same accounts.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SqlSessions::new(Arc::new(self.clone()), self.0.feed))
    }

    /// Identities of the same accounts.
    pub fn identities(&self) -> Arc<dyn IdentityStore> {
        Arc::new(SqlIdentities(Arc::new(self.clone())))
    }

    /// API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(Arc::new(self.clone()), KeyTable::ApiKeys))
    }

    /// Who sends rides.
    pub fn gates(&self) -> Arc<dyn GateStore> {
        Arc::new(SqlGates(Arc::new(self.clone())))
    }

    /// Whose skiers' numbers are.
    pub fn passes(&self) -> Arc<dyn PassStore> {
        Arc::new(SqlPasses(Arc::new(self.clone())))
    }

    /// Takes no more requests, finishes those that wait, and closes the connections; blocks, and is
    /// false if that takes too long.
    pub fn close(&self) -> bool {
        let deadline = Instant::now() + self.0.options.close_wait;
        let pools = [&self.0.writers, &self.0.readers, &self.0.scanners];
        for pool in pools {
            pool.close();
        }
        pools.iter().all(|pool| pool.wait_ended(deadline))
    }
}

impl Database for MariaDb {
    async fn read<T, W>(&self, app: App, reads: Reads, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        let Pools { readers, scanners, .. } = &*self.0;
        match reads {
            Reads::Few => readers.run(app, move |connection| connection.read(&work)).await,
            Reads::Many => scanners.run(app, move |connection| connection.read(&work)).await,
            Reads::Snapshot | Reads::Search => {
                scanners.run(app, move |connection| connection.snapshot(&work)).await
            }
        }
    }

    async fn write<T, W>(&self, app: App, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    {
        self.0.writers.run(app, move |connection| connection.write(&work)).await
    }
}

const KEEP_FEED: Statement = text("INSERT INTO meta (name, value) VALUES ('accounts_feed', ?)");
const FEED: Statement = text("SELECT value FROM meta WHERE name = 'accounts_feed'");

const fn text(sql: &'static str) -> Statement {
    Statement { sqlite: sql, mariadb: sql }
}

/// The identity of the accounts' feed, drawn when there is none yet.
fn kept_feed(tx: &mut dyn Tx) -> Result<Uuid, Failure> {
    tx.insert(&KEEP_FEED, &[Value::Bytes(Uuid::new_v4().as_bytes())])?;
    let kept = tx.one(&FEED, &[], |row| row.get(0))?;
    kept.ok_or_else(|| Error::internal("the feed's identity is not kept").into())
}
