//! Wiring of `lodge move`.

use std::{path::Path, sync::Arc};

use anyhow::{Result, anyhow};
use lodge_domain::{Error, links::moving::Move};
use lodge_engines::mariadb::MoveDestination;
use lodge_sql::{TableComparison, Watch, compare_accounts, copy_accounts};
use lodge_sqlite::MovingFolder;

use super::{cluster, engine::with_causes, mariadb, stores::options};
use crate::config::{
    Config,
    sources::BadConfig,
    stores::{AccountsStore, LinkStore},
};

const NO_DESTINATION: &str = "links.store must be \"cassandra\", or accounts.store \"mariadb\" in a process with the role accounts: \
     the configuration must describe the destination of the move";

/// What is moved from one data folder, each app to the store that the configuration names.
pub(crate) struct Moves {
    folder: Arc<MovingFolder>,
    /// Links to Cassandra.
    pub(crate) links: Option<Move>,
    /// Accounts to MariaDB.
    pub(crate) accounts: Option<AccountsMove>,
}

/// A move of accounts to MariaDB.
pub(crate) struct AccountsMove {
    folder: Arc<MovingFolder>,
    destination: MoveDestination,
    /// Whether an earlier run has copied and compared everything.
    is_done: bool,
}

impl Moves {
    /// Locks the data folder `from`, and connects to the stores of the configuration.
    pub(crate) async fn prepare(config: &Config, from: &Path) -> Result<Self> {
        let has_links = config.links.store == LinkStore::Cassandra;
        let has_accounts = config.stores_accounts_in(AccountsStore::MariaDb);
        if !has_links && !has_accounts {
            return Err(anyhow!(NO_DESTINATION).context(BadConfig));
        }
        let folder = Arc::new(MovingFolder::open(from, &options(config))?);
        let links = if has_links {
            Some(cluster::moving(config, Arc::clone(&folder)).await?)
        } else {
            None
        };
        let accounts = if has_accounts {
            let (destination, is_done) = mariadb::move_destination(config, &folder).await?;
            Some(AccountsMove { folder: Arc::clone(&folder), destination, is_done })
        } else {
            None
        };
        Ok(Self { folder, links, accounts })
    }

    /// Whether the folder has accounts that are not moved.
    pub(crate) async fn leaves_accounts(&self) -> Result<bool> {
        if self.accounts.is_some() {
            return Ok(false);
        }
        self.folder.has_accounts().await.map_err(|error| with_causes("the folder", error))
    }
}

impl AccountsMove {
    /// Copies what is missing, and compares every row. Servers may use the database once it is equal.
    pub(crate) async fn run(&self, watch: Watch<'_>) -> Result<Vec<TableComparison>, Error> {
        let (from, to) = (&*self.folder, self.destination.database());
        if !self.is_done {
            copy_accounts(from, to, self.folder.last_account_id().await?, watch).await?;
        }
        let compared = compare_accounts(from, to, watch).await?;
        if compared.iter().all(|table| table.differences == 0) {
            self.destination.finish().await?;
        }
        Ok(compared)
    }
}
