//! What the accounts tier stores accounts in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use lodge_testbed::{Cluster, Kind, Layout, Member};

use super::options::ExperimentOptions;
use crate::{
    bench::seeded::{Seeded, Store},
    cluster, process,
    system::{self, FOR_CLUSTERS},
};

/// The accounts, with a database server and Redis if they are not in a data folder.
pub(super) struct Stores {
    /// The data folder of the accounts tier.
    pub(super) data: PathBuf,
    /// The file with the tokens of sessions.
    pub(super) tokens: PathBuf,
    servers: Option<(Seeded, Redis)>,
}

/// Redis under Sentinel.
pub(super) struct Redis(Cluster);

impl Redis {
    fn start(lodge: &Path) -> Result<Self> {
        let layout = Layout::in_block(&process::root(), cluster::block()?);
        let redis = Self(Cluster::new(layout, lodge));
        redis.0.down()?;
        let members: Vec<Member> =
            Member::of(Kind::Redis).chain(Member::of(Kind::Sentinel)).collect();
        redis.0.up_alone(&members)?;
        redis.0.wait_settled()?;
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Err(error) = self.0.down() {
            eprintln!("Redis does not stop: {error:#}");
        }
    }
}

impl Stores {
    /// Starts the servers, and creates the accounts in MariaDB unless they exist.
    pub(super) fn open(options: &ExperimentOptions, lodge: &Path) -> Result<Self> {
        match options.store {
            Store::Sqlite => Self::in_folder(options),
            Store::Mariadb => Self::on_servers(options, lodge),
        }
    }

    fn in_folder(options: &ExperimentOptions) -> Result<Self> {
        let given = options.data.as_ref().zip(options.tokens.as_ref());
        let (data, tokens) = given.context("--data and --tokens are missing")?;
        ensure!(
            data.join("lodge.db").exists(),
            "{} is not a data folder; create one with `lodge load accounts-seed`",
            data.display()
        );
        let tokens =
            fs::canonicalize(tokens).with_context(|| format!("--tokens {}", tokens.display()))?;
        Ok(Self { data: fs::canonicalize(data)?, tokens, servers: None })
    }

    fn on_servers(options: &ExperimentOptions, lodge: &Path) -> Result<Self> {
        system::provide(FOR_CLUSTERS)?;
        let ExperimentOptions { store, users, sessions, .. } = options;
        let seeded = Seeded::open(*store, *users, *sessions, lodge)?;
        let [data, tokens] = ["data", "tokens"].map(|name| seeded.folder().join(name));
        Ok(Self { data, tokens, servers: Some((seeded, Redis::start(lodge)?)) })
    }

    /// Returns the settings of the accounts tier.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let Some((seeded, redis)) = &self.servers else { return Vec::new() };
        let mut settings = seeded.settings();
        settings.extend(redis.0.layout().redis_settings());
        settings
    }

    /// Stops the servers.
    pub(super) fn close(self) -> Result<()> {
        self.servers.map_or(Ok(()), |(seeded, _)| seeded.close())
    }
}
