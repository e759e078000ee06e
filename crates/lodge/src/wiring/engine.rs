//! The engine that was chosen, for what a process does with it beside serving.

use std::path::Path;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use lodge_sqlite::{Sqlite, Tidied};
#[cfg(feature = "cluster")]
use {lodge_sqlite::Folder, std::sync::Arc};

/// Where everything is kept. Clones share it.
#[derive(Clone)]
pub(crate) enum Engine {
    /// In the data folder.
    Sqlite(Sqlite),
    /// In a cluster; the folder holds the administrators' socket.
    #[cfg(feature = "cluster")]
    Cassandra {
        /// The data folder, ours alone.
        _folder: Arc<Folder>,
    },
}

impl Engine {
    /// Whether this process can work. A cluster that does not answer this one would not answer another,
    /// and what is remembered can still be served.
    pub(crate) async fn ping(&self) -> lodge_domain::Result<()> {
        match self {
            Self::Sqlite(engine) => engine.ping().await,
            #[cfg(feature = "cluster")]
            Self::Cassandra { .. } => Ok(()),
        }
    }

    /// Writes a copy of everything to a file; its size in bytes.
    pub(crate) async fn backup(&self, to: &Path) -> Result<u64> {
        match self {
            Self::Sqlite(engine) => Ok(engine.backup(to).await?),
            #[cfg(feature = "cluster")]
            Self::Cassandra { .. } => {
                anyhow::bail!(
                    "a Cassandra cluster is backed up by its own means (nodetool snapshot)"
                )
            }
        }
    }

    /// Removes some of what nobody needs any more. What a cluster need not keep goes by itself.
    pub(crate) async fn tidy(
        &self,
        now: Timestamp,
        reserved: SignedDuration,
    ) -> lodge_domain::Result<Tidied> {
        match self {
            Self::Sqlite(engine) => engine.tidy(now, reserved).await,
            #[cfg(feature = "cluster")]
            Self::Cassandra { .. } => Ok(Tidied::default()),
        }
    }

    /// Lets go of it; what was acknowledged is there.
    pub(crate) async fn close(&self) -> lodge_domain::Result<()> {
        match self {
            Self::Sqlite(engine) => engine.close().await,
            #[cfg(feature = "cluster")]
            Self::Cassandra { .. } => Ok(()),
        }
    }
}
