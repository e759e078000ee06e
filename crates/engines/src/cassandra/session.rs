//! The session with the cluster.

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

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(5);

/// How long to wait for a cluster that is not usable yet, and the pause between two tries.
const CONNECT_DEADLINE: Duration = Duration::from_secs(80);
const PAUSE: Duration = Duration::from_millis(500);

/// Interval and timeout of keepalives: a hung node accepts connections and answers nothing.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// How soon a healthy node answers, even on a busy machine.
const SPECULATIVE_DELAY: Duration = Duration::from_millis(150);

/// The setting of the installation's secret.
pub(crate) const SECRET: &str = "secret";

/// The setting of the links' mode.
pub(crate) const MODE: &str = "mode";
/// The setting that identifies the store of the accounts that own links.
pub(crate) const ACCOUNTS: &str = "accounts";

/// A session of the driver with its prepared statements.
pub(crate) struct Session {
    session: Arc<session::Session>,
    pub(crate) statements: Statements,
}

impl Session {
    /// Connects, and migrates the schema. Nodes that start together with this process refuse some
    /// statements at first, until they agree on the schema.
    pub(crate) async fn connect(options: &Options) -> Result<Self> {
        let (deadline, holder) = (Instant::now() + CONNECT_DEADLINE, Uuid::new_v4());
        loop {
            match Box::pin(Self::try_connect(options, holder)).await {
                Err(Error::Unavailable { cause, .. }) if Instant::now() < deadline => {
                    tracing::warn!(error = %cause, "Cassandra is not usable yet; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    async fn try_connect(options: &Options, holder: Uuid) -> Result<Self> {
        let session = Arc::new(open(options).await?);
        schema::migrate(&session, options, holder).await?;
        let statements = Box::pin(Statements::prepare(&session, &options.keyspace)).await?;
        Ok(Self { session, statements })
    }

    /// Runs plain writes of one partition as one batch, which a node handles like a single write.
    pub(crate) async fn batch(&self, writes: Vec<Bound>) -> Result<(), Failure> {
        let (statements, values): (Vec<_>, Vec<_>) = writes.into_iter().unzip();
        self.session.batch(&batch_of_writes(statements), values).await?;
        Ok(())
    }

    /// Reads a setting of the whole installation.
    pub(crate) async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let row: Option<(Vec<u8>,)> = self.statements.setting.first((name,)).await?;
        Ok(row.map(|(value,)| value))
    }

    /// Returns the installation's secret: `fresh` if none was stored before.
    pub(crate) async fn secret(&self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        let value = self.set_if_absent(SECRET, &fresh).await?;
        value.try_into().map_err(|_| Error::internal("the installation's secret is not 32 bytes"))
    }

    /// Replaces the installation's secret.
    pub(crate) async fn replace_secret(&self, fresh: [u8; 32]) -> Result<()> {
        let was = self.setting(SECRET).await?;
        // The read below settles an unknown outcome.
        let replaced = self.statements.change_setting.transact((&fresh[..], SECRET, was)).await;
        if self.setting(SECRET).await?.is_some_and(|value| value == fresh) {
            return Ok(());
        }
        let meanwhile = || Error::conflict("another process replaced the secret meanwhile");
        Err(replaced.err().map_or_else(meanwhile, Error::from))
    }

    /// Stores a setting of the whole installation, unless it is set; returns the stored value.
    pub(crate) async fn set_if_absent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>> {
        // The read below settles an unknown outcome.
        let kept = self.statements.add_setting.transact((name, value)).await;
        match self.setting(name).await? {
            Some(value) => Ok(value),
            None => Err(kept.err().map_or_else(|| Error::internal("not stored"), Error::from)),
        }
    }
}

/// Returns the number of nodes that one node of the cluster reports. Changes nothing.
pub(crate) async fn probe(options: &Options) -> Result<usize> {
    Ok(open(options).await?.get_cluster_state().get_nodes_info().len())
}

async fn open(options: &Options) -> Result<session::Session> {
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.nodes)
        .connection_timeout(CONNECT)
        .keepalive_interval(KEEPALIVE)
        .keepalive_timeout(KEEPALIVE)
        .default_execution_profile_handle(profile().into_handle())
        .tls_context(options.tls.as_ref().map(Tls::client).transpose()?);
    if let Some(Login { username, password }) = &options.login {
        builder = builder.user(username, password.expose_secret());
    }
    builder.build().await.map_err(Error::unavailable)
}

/// Speculative execution: if a node does not answer soon, an idempotent statement is sent to another node,
/// too.
fn profile() -> ExecutionProfile {
    // One retry only: a cluster that is slow because it is busy must not get each statement three times.
    let policy =
        SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: SPECULATIVE_DELAY };
    ExecutionProfile::builder().speculative_execution_policy(Some(Arc::new(policy))).build()
}
