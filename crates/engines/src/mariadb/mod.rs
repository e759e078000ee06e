//! Accounts, API keys, gates and passes in MariaDB.
//!
//! Each thread owns a connection. There are separate pools for writes, for lookups and for scans, so that
//! none waits for another. A transaction that the server rolls back for a deadlock, or because its connection breaks, is
//! run again. If the answer to a COMMIT is lost, its outcome is looked up.

mod cleanup;
mod commits;
mod connection;
mod failure;
mod failures;
mod installation;
mod options;
mod schema;
mod servers;
mod skeletons;
mod tx;

use std::{iter, sync::Arc, time::Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{AccountStore, IdentityStore, SessionStore},
    failures::Failures,
    key_sessions::KeySessionStore,
    keys::KeyStore,
    rides::{GateStore, PassStore},
    secret::InstallationSecret,
    security::SecurityEventStore,
};
use lodge_sql::{
    App, Database, Failure, KeyTable, ReadKind, SqlAccounts, SqlGates, SqlIdentities,
    SqlKeySessions, SqlKeys, SqlPasses, SqlSecurityEvents, SqlSessions, Tx, Work, Workers,
};

pub use installation::Identity;
pub use options::Options;

use self::{
    connection::Connection,
    installation::Installation,
    servers::{Servers, Use},
};

/// An open database.
#[derive(Clone)]
pub struct MariaDb {
    pools: Arc<Pools>,
    installation: Arc<Installation>,
}

/// A database that accounts are moved into, and that no server may use meanwhile.
pub struct MoveDestination(Arc<Pools>);

struct Pools {
    writers: Workers<Connection>,
    readers: Workers<Connection>,
    scanners: Workers<Connection>,
    options: Options,
}

impl Pools {
    /// Connects, and migrates the schema.
    async fn connect(options: Options) -> Result<Self> {
        let servers = Servers::new(options.clone())?;
        let of_migration = Arc::clone(&servers);
        let migrated = tokio::task::spawn_blocking(move || {
            of_migration.watch().map_err(Error::unavailable)?;
            let connected = of_migration.connect(Use::Migrate);
            let (mut connection, _) = connected.map_err(Error::unavailable)?;
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
        Ok(Self { writers, readers, scanners, options })
    }

    /// Runs a transaction that writes, and returns its result.
    async fn write<T: Send + 'static>(
        &self,
        app: App,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        <dyn Database>::write(self, app, work).await
    }

    /// See [`MariaDb::close`].
    fn close(&self) -> bool {
        let deadline = Instant::now() + self.options.close_wait;
        let pools = [&self.writers, &self.readers, &self.scanners];
        for pool in pools {
            pool.close();
        }
        pools.iter().all(|pool| pool.wait_ended(deadline))
    }
}

impl MariaDb {
    /// Connects, and migrates the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no server answers; [`Error::Internal`] when the schema is of a newer
    /// Lodge. The cause says why.
    pub async fn connect(options: Options) -> Result<Self> {
        let pools = Pools::connect(options).await?;
        let installation = pools.write(App::Accounts, Installation::open).await?;
        Ok(Self { pools: Arc::new(pools), installation: Arc::new(installation) })
    }

    /// Connects like [`Self::connect`], to an empty database that accounts are moved into. Returns also whether an
    /// earlier move has copied them all.
    ///
    /// # Errors
    ///
    /// Those of [`Self::connect`]; [`Error::Conflict`] if the database belongs to other accounts.
    pub async fn connect_for_move(
        options: Options,
        identity: Identity,
    ) -> Result<(MoveDestination, bool)> {
        let pools = Pools::connect(options).await?;
        let begin = move |tx: &mut dyn Tx| installation::begin_move(tx, &identity);
        let is_copied = pools.write(App::Accounts, begin).await?;
        Ok((MoveDestination(Arc::new(pools)), is_copied))
    }

    /// Tests the connection to each server, without writing. Returns their versions.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when no server answers; the cause says why.
    pub async fn probe(options: Options) -> Result<Vec<String>> {
        let servers = Servers::new(options)?;
        tokio::task::spawn_blocking(move || servers.probe()).await.map_err(Error::internal)?
    }

    /// Returns the installation's secret, created when the database is first opened.
    pub fn secret(&self) -> InstallationSecret {
        self.installation.secret.clone()
    }

    /// Returns the id of the accounts in this database, by which links elsewhere can be bound to them. It never
    /// changes.
    pub fn accounts_id(&self) -> [u8; 32] {
        self.installation.accounts_id
    }

    /// Replaces the installation's secret by a new one, which this value uses once the database is opened again.
    pub async fn replace_secret(&self) -> Result<()> {
        self.database().write(App::Accounts, installation::replace_secret).await
    }

    /// Removes a batch of expired rows. Returns whether more can be removed now.
    pub async fn remove_expired(&self, now: Timestamp) -> Result<bool> {
        self.database()
            .write(App::Accounts, move |tx: &mut dyn Tx| cleanup::remove_expired(tx, now))
            .await
    }

    /// The database, to run transactions on.
    pub fn database(&self) -> &dyn Database {
        self
    }

    /// The store of accounts.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::new(SqlAccounts(Arc::new(self.clone())))
    }

    /// The store of sessions.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SqlSessions::new(Arc::new(self.clone()), self.installation.feed))
    }

    /// The store of identities at OpenID Connect and OAuth providers.
    pub fn identities(&self) -> Arc<dyn IdentityStore> {
        Arc::new(SqlIdentities(Arc::new(self.clone())))
    }

    /// The store of security events.
    pub fn security_events(&self) -> Arc<dyn SecurityEventStore> {
        Arc::new(SqlSecurityEvents(Arc::new(self.clone())))
    }

    /// The counters of wrong passwords.
    pub fn failures(&self) -> Arc<dyn Failures> {
        Arc::new(self.clone())
    }

    /// The store of API keys.
    pub fn keys(&self) -> Arc<dyn KeyStore> {
        Arc::new(SqlKeys::new(Arc::new(self.clone()), KeyTable::ApiKeys))
    }

    /// The store of the page sessions of API keys.
    pub fn key_sessions(&self) -> Arc<dyn KeySessionStore> {
        Arc::new(SqlKeySessions(Arc::new(self.clone())))
    }

    /// The store of gates, which send rides.
    pub fn gates(&self) -> Arc<dyn GateStore> {
        Arc::new(SqlGates(Arc::new(self.clone())))
    }

    /// The store of passes, which assign skiers' numbers to accounts.
    pub fn passes(&self) -> Arc<dyn PassStore> {
        Arc::new(SqlPasses(Arc::new(self.clone())))
    }

    /// Refuses new requests, finishes the waiting ones, and closes the connections. Blocks; returns false
    /// if that takes longer than [`Options::close_wait`].
    pub fn close(&self) -> bool {
        self.pools.close()
    }
}

impl MoveDestination {
    /// The database, to copy rows into.
    pub fn database(&self) -> &dyn Database {
        &*self.0
    }

    /// Records that all accounts are copied; servers may use the database from now on.
    pub async fn finish(&self) -> Result<()> {
        self.0.write(App::Accounts, installation::end_move).await
    }
}

#[async_trait]
impl Database for MariaDb {
    async fn run_read(&self, app: App, reads: ReadKind, work: Work) -> Result<()> {
        self.pools.run_read(app, reads, work).await
    }

    async fn run_write(&self, app: App, work: Work) -> Result<()> {
        self.pools.run_write(app, work).await
    }
}

#[async_trait]
impl Database for Pools {
    async fn run_read(&self, app: App, reads: ReadKind, work: Work) -> Result<()> {
        let Self { readers, scanners, .. } = self;
        match reads {
            ReadKind::ByKey => readers.run(app, timed(move |link| link.read(&work))).await,
            ReadKind::Scan | ReadKind::Export => {
                scanners.run(app, timed(move |link| link.read(&work))).await
            }
            ReadKind::Snapshot | ReadKind::Search => {
                scanners.run(app, timed(move |link| link.snapshot(&work))).await
            }
        }
    }

    async fn run_write(&self, app: App, work: Work) -> Result<()> {
        self.writers.run(app, timed(move |link| link.write(&work))).await
    }
}

/// Records how long the work waits for a connection, and how long it takes there.
fn timed(
    work: impl FnOnce(&mut Connection) -> Result<()>,
) -> impl FnOnce(&mut Connection) -> Result<()> {
    let asked = Instant::now();
    move |connection| {
        let began = Instant::now();
        let outcome = work(connection);
        metrics::histogram!("lodge_mariadb_wait_seconds").record(began - asked);
        metrics::histogram!("lodge_mariadb_transaction_seconds").record(began.elapsed());
        outcome
    }
}
