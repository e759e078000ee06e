//! Wiring of `lodge move`.

use std::{path::Path, sync::Arc};

use anyhow::{Result, anyhow};
use lodge_domain::{Error, links::moving::Move};
use lodge_engines::mariadb::MoveDestination;
use lodge_sql::{TableComparison, Watch, compare_accounts, copy_accounts};
use lodge_sqlite::MovingFolder;

use super::{
    cluster,
    engine::with_causes,
    mariadb,
    pictures::{self, PicturesOf},
    stores::options,
};
use crate::config::{
    Config,
    sources::BadConfig,
    stores::{AccountsStore, LinkStore, PictureStorage},
};

const NO_DESTINATION: &str = "links.store must be \"cassandra\", accounts.store \"mariadb\" in a process with the role accounts, or \
     pictures.store \"s3\": the configuration must describe the destination of the move";

/// What is moved from one data folder, each app to the store that the configuration names.
pub(crate) struct Moves {
    folder: Arc<MovingFolder>,
    /// Links to Cassandra.
    pub(crate) links: Option<Move>,
    /// Pictures to a bucket.
    pub(crate) pictures: Vec<PicturesOf>,
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
    /// Locks the data folder `from`, and connects to the stores of the configuration. Pictures of accounts are in
    /// `of_accounts`, if they are not in the data folder.
    pub(crate) async fn prepare(
        config: &Config,
        from: &Path,
        of_accounts: Option<&Path>,
    ) -> Result<Self> {
        let has_links = config.links.store == LinkStore::Cassandra;
        let has_accounts = config.stores_accounts_in(AccountsStore::MariaDb);
        let has_pictures = config.pictures.store == PictureStorage::S3;
        if !has_links && !has_accounts && !has_pictures {
            return Err(anyhow!(NO_DESTINATION).context(BadConfig));
        }
        if of_accounts.is_some() && !has_pictures {
            return Err(anyhow!("--pictures requires pictures.store = \"s3\"").context(BadConfig));
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
        let board = folder.accounts_id().await.map_err(of_folder)?;
        let expected = folder.pictured_accounts().await.map_err(of_folder)?;
        let pictures = pictures::moves(config, from, of_accounts, expected, board)?;
        Ok(Self { folder, links, pictures, accounts })
    }

    /// Whether the folder has accounts that are not moved with its links.
    pub(crate) async fn leaves_accounts(&self) -> Result<bool> {
        if self.links.is_none() || self.accounts.is_some() {
            return Ok(false);
        }
        self.folder.has_accounts().await.map_err(of_folder)
    }
}

fn of_folder(error: Error) -> anyhow::Error {
    with_causes("the folder", error)
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
