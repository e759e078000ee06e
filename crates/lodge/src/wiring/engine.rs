//! The engines of a process, and their operations beside serving requests.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error,
    security::{self, SecurityEventKind},
};
use lodge_sqlite::{Folder, Sqlite};

/// A storage engine that holds the data of one or more apps.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// The engine's name, for operators.
    fn name(&self) -> &'static str;

    /// Checks readiness. An engine shared by all processes always returns `Ok`: its failure affects every process
    /// alike, so no balancer could route around it, and cached data can still be served.
    async fn ping(&self) -> lodge_domain::Result<()> {
        Ok(())
    }

    /// Writes a full backup to a file. Returns its size in bytes, or `None` if the engine is backed up with
    /// its own tools.
    async fn backup(&self, _to: &Path) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Replaces the installation's secret. Processes use the old one until they open the engine again.
    async fn replace_secret(&self) -> lodge_domain::Result<()>;

    /// Removes a batch of expired data; shorts stay reserved for `reserved`. Returns whether more can be removed
    /// now.
    async fn remove_expired(
        &self,
        _now: Timestamp,
        _reserved: SignedDuration,
    ) -> lodge_domain::Result<bool> {
        Ok(false)
    }

    /// Closes the engine. Acknowledged writes are stored.
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

    async fn replace_secret(&self) -> lodge_domain::Result<()> {
        Self::replace_secret(self).await
    }

    async fn remove_expired(
        &self,
        now: Timestamp,
        reserved: SignedDuration,
    ) -> lodge_domain::Result<bool> {
        Ok(Self::remove_expired(self, now, reserved).await?.more)
    }

    async fn close(&self) -> lodge_domain::Result<()> {
        Self::close(self).await
    }
}

/// The engines of a process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Engines {
    list: Vec<Arc<dyn Engine>>,
    /// The lock of the data folder, if no engine holds it.
    _folder: Option<Arc<Folder>>,
}

/// A completed backup.
pub(crate) struct Backup {
    /// The size of the file.
    pub(crate) bytes: u64,
    /// Names of engines whose data is not in the file.
    pub(crate) left_out: Vec<String>,
}

impl Engines {
    /// Returns an empty list over a locked folder that contains only the admin socket.
    pub(super) fn locked(folder: Folder) -> Self {
        Self { list: Vec::new(), _folder: Some(Arc::new(folder)) }
    }

    pub(super) fn add(&mut self, engine: impl Engine + 'static) {
        self.list.push(Arc::new(engine));
    }

    /// Checks the readiness of all engines.
    pub(crate) async fn ping(&self) -> lodge_domain::Result<()> {
        for engine in &self.list {
            engine.ping().await?;
        }
        Ok(())
    }

    /// Writes a backup of the data folder to a file.
    pub(crate) async fn backup(&self, to: &Path) -> Result<Backup> {
        let (mut bytes, mut left_out) = (None, Vec::new());
        for engine in &self.list {
            match engine.backup(to).await? {
                Some(written) => bytes = Some(written),
                None => left_out.push(engine.name().to_owned()),
            }
        }
        let Some(bytes) = bytes else {
            let engines = left_out.join(" and ");
            bail!("all data is in {engines}; back it up with the tools of {engines}");
        };
        Ok(Backup { bytes, left_out })
    }

    /// Replaces the installation's secret in each engine, which has one of its own. Returns their names.
    pub(crate) async fn replace_secrets(&self) -> Result<Vec<String>> {
        ensure!(!self.list.is_empty(), "this process stores no data, and so has no secret");
        let mut replaced = Vec::new();
        for engine in &self.list {
            let in_engine = engine.replace_secret().await;
            in_engine.with_context(|| {
                format!("the secret in {} is not replaced; run the command again", engine.name())
            })?;
            let detail = format!("secret replace in {}", engine.name());
            security::record(SecurityEventKind::OperatorCommand, None, detail);
            replaced.push(engine.name().to_owned());
        }
        Ok(replaced)
    }

    /// Removes expired data from every engine, even if one fails. Returns whether more can be removed now.
    pub(crate) async fn remove_expired(
        &self,
        now: Timestamp,
        reserved: SignedDuration,
    ) -> lodge_domain::Result<bool> {
        let mut more = Ok(false);
        for engine in &self.list {
            let of_engine = engine.remove_expired(now, reserved).await;
            more = more.and_then(|more| Ok(more | of_engine?));
        }
        more
    }

    /// Closes every engine, even if one fails to close cleanly.
    pub(crate) async fn close(&self) -> lodge_domain::Result<()> {
        let mut closed = Ok(());
        for engine in self.list.iter().rev() {
            closed = closed.and(engine.close().await);
        }
        closed
    }
}

/// Includes the causes, which the operator may read but a caller may not.
pub(super) fn with_causes(engine: &'static str, error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable { .. } | Error::Internal(_) => {
            anyhow::anyhow!("cannot use {engine}: {}", error.log_text())
        }
        error => error.into(),
    }
}
