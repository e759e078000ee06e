//! Engines, for what a process does with them beside serving.

use std::{path::Path, sync::Arc};

use anyhow::{Result, bail};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_sqlite::{Folder, Sqlite};

/// What stores the data of one or more apps.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// Its name, for operators.
    fn name(&self) -> &'static str;

    /// Whether this process can work with it. An engine that all processes share is asked by none: if it
    /// did not answer this one it would not answer another, and what is cached can still be served.
    async fn ping(&self) -> lodge_domain::Result<()> {
        Ok(())
    }

    /// Writes a copy of everything to a file; its size in bytes, or `None` if the engine is backed up by
    /// its own means.
    async fn backup(&self, _to: &Path) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Removes some of what has expired; shorts stay reserved for a time. Whether there is more to do at
    /// once.
    async fn tidy(&self, _now: Timestamp, _reserved: SignedDuration) -> lodge_domain::Result<bool> {
        Ok(false)
    }

    /// Lets go of it; what was acknowledged is there.
    async fn close(&self) -> lodge_domain::Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    async fn ping(&self) -> lodge_domain::Result<()> {
        Self::ping(self).await
    }

    async fn backup(&self, to: &Path) -> Result<Option<u64>> {
        Ok(Some(Self::backup(self, to).await?))
    }

    async fn tidy(&self, now: Timestamp, reserved: SignedDuration) -> lodge_domain::Result<bool> {
        Ok(Self::tidy(self, now, reserved).await?.more)
    }

    async fn close(&self) -> lodge_domain::Result<()> {
        Self::close(self).await
    }
}

/// The engines of a process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Engines {
    list: Vec<Arc<dyn Engine>>,
    /// The data folder, locked, where no engine has it.
    _folder: Option<Arc<Folder>>,
}

/// A backup that was written.
pub(crate) struct Backup {
    /// The size of the file.
    pub(crate) bytes: u64,
    /// Engines whose data are not in it.
    pub(crate) left_out: Vec<String>,
}

impl Engines {
    /// None yet, over a folder that holds nothing but the administrators' socket.
    pub(super) fn over(folder: Folder) -> Self {
        Self { list: Vec::new(), _folder: Some(Arc::new(folder)) }
    }

    pub(super) fn add(&mut self, engine: impl Engine + 'static) {
        self.list.push(Arc::new(engine));
    }

    /// Whether this process can work.
    pub(crate) async fn ping(&self) -> lodge_domain::Result<()> {
        for engine in &self.list {
            engine.ping().await?;
        }
        Ok(())
    }

    /// Writes a copy of everything that is in the data folder to a file.
    pub(crate) async fn backup(&self, to: &Path) -> Result<Backup> {
        let (mut bytes, mut left_out) = (None, Vec::new());
        for engine in &self.list {
            match engine.backup(to).await? {
                Some(written) => bytes = Some(written),
                None => left_out.push(engine.name().to_owned()),
            }
        }
        match bytes {
            Some(bytes) => Ok(Backup { bytes, left_out }),
            None => bail!("a Cassandra cluster is backed up by its own means (nodetool snapshot)"),
        }
    }

    /// Removes some of what has expired, also when one of them fails; whether there is more to do at once.
    pub(crate) async fn tidy(
        &self,
        now: Timestamp,
        reserved: SignedDuration,
    ) -> lodge_domain::Result<bool> {
        let mut more = Ok(false);
        for engine in &self.list {
            let of_engine = engine.tidy(now, reserved).await;
            more = more.and_then(|more| Ok(more | of_engine?));
        }
        more
    }

    /// Lets go of all of them, also when one does not close cleanly.
    pub(crate) async fn close(&self) -> lodge_domain::Result<()> {
        let mut closed = Ok(());
        for engine in self.list.iter().rev() {
            closed = closed.and(engine.close().await);
        }
        closed
    }
}
