//! The connection to the cluster.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use scylla::{
    client::{execution_profile::ExecutionProfile, session, session_builder::SessionBuilder},
    policies::speculative_execution::SimpleSpeculativeExecutionPolicy,
};
use secrecy::ExposeSecret as _;
use uuid::Uuid;

use super::{
    failure::Failure,
    options::{Login, Options},
    prepared::Bound,
    schema,
    statements::{Statements, batch_of_writes},
};
use crate::Tls;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a cluster that cannot be used yet is waited for, and how long between two tries.
const PATIENCE: Duration = Duration::from_secs(80);
const PAUSE: Duration = Duration::from_millis(500);

/// How often a connection is felt for its pulse, and how long one may be without: a node that hangs
/// takes connections and answers nothing.
const PULSE: Duration = Duration::from_secs(1);

/// How soon a node answers that is well, even on a busy machine.
const SOON: Duration = Duration::from_millis(150);

/// The setting that holds the installation's secret.
pub(crate) const SECRET: &str = "secret";

/// The setting that holds the mode in which links are made.
pub(crate) const MODE: &str = "mode";
/// The setting that names the store of the accounts that own links.
pub(crate) const ACCOUNTS: &str = "accounts";

/// A connection with its statements.
pub(crate) struct Session {
    session: Arc<session::Session>,
    pub(crate) statements: Statements,
}

impl Session {
    /// Connects, and brings the schema up to date. Nodes that start together with this process refuse
    /// some of it at first, until they agree on the schema.
    pub(crate) async fn connect(options: &Options) -> Result<Self> {
        let (deadline, holder) = (Instant::now() + PATIENCE, Uuid::new_v4());
        loop {
            match Box::pin(Self::try_connect(options, holder)).await {
                Err(Error::Unavailable { cause, .. }) if Instant::now() < deadline => {
                    tracing::warn!(error = %cause, "Cassandra cannot be used yet; it is tried again");
                    tokio::time::sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    async fn try_connect(options: &Options, holder: Uuid) -> Result<Self> {
        let session = Arc::new(open(options).await?);
        schema::migrate(&session, options, holder).await?;
        let statements = Statements::prepare(&session, &options.keyspace).await?;
        Ok(Self { session, statements })
    }

    /// Runs plain writes with one partition key as one write: a node has to do with them once, and not
    /// once for each.
    pub(crate) async fn batch(&self, writes: Vec<Bound>) -> Result<(), Failure> {
        let (statements, values): (Vec<_>, Vec<_>) = writes.into_iter().unzip();
        self.session.batch(&batch_of_writes(statements), values).await?;
        Ok(())
    }

    /// What is kept under a name for the whole installation.
    pub(crate) async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let row: Option<(Vec<u8>,)> = self.statements.setting.first((name,)).await?;
        Ok(row.map(|(value,)| value))
    }

    /// The installation's secret: `fresh`, or the one that was kept first.
    pub(crate) async fn secret(&self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        let value = self.keep_first(SECRET, &fresh).await?;
        value.try_into().map_err(|_| Error::internal("the installation's secret is not 32 bytes"))
    }

    /// Keeps a value under a name for the whole installation, unless one is kept; the one that is.
    pub(crate) async fn keep_first(&self, name: &str, value: &[u8]) -> Result<Vec<u8>> {
        // Whether it was done is read from what is there.
        let kept = self.statements.add_setting.transact((name, value)).await;
        match self.setting(name).await? {
            Some(value) => Ok(value),
            None => Err(kept.err().map_or_else(|| Error::internal("not kept"), Error::from)),
        }
    }
}

/// How many nodes the cluster has, as far as one of them knows; nothing is changed.
pub(crate) async fn probe(options: &Options) -> Result<usize> {
    Ok(open(options).await?.get_cluster_state().get_nodes_info().len())
}

async fn open(options: &Options) -> Result<session::Session> {
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.nodes)
        .connection_timeout(CONNECT)
        .keepalive_interval(PULSE)
        .keepalive_timeout(PULSE)
        .default_execution_profile_handle(profile().into_handle())
        .tls_context(options.tls.as_ref().map(Tls::client).transpose()?);
    if let Some(Login { username, password }) = &options.login {
        builder = builder.user(username, password.expose_secret());
    }
    builder.build().await.map_err(Error::unavailable)
}

/// A node that does not answer soon is not waited for alone: another is asked as well, unless what is
/// asked must not be done twice.
fn profile() -> ExecutionProfile {
    // One more and no others: a cluster that is slow because it is busy is not to be asked three times.
    let policy = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: SOON };
    ExecutionProfile::builder().speculative_execution_policy(Some(Arc::new(policy))).build()
}
