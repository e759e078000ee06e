//! Wiring of accounts in MariaDB.

use anyhow::{Context, Result};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{Error, links::moving::Source as _};
use lodge_engines::mariadb::{Identity, MariaDb, MoveDestination, Options};
use lodge_sqlite::MovingFolder;

use super::{
    engine::{Engine, Engines, with_causes},
    setting_file::{describe_setting, secret_file, tls},
    stores::AccountPorts,
};
use crate::config::{Config, stores::AccountsStore};

/// Connects to MariaDB.
pub(super) async fn accounts(config: &Config, engines: &mut Engines) -> Result<AccountPorts> {
    let database = MariaDb::connect(options(config)?).await;
    let database = database.map_err(|error| with_causes("MariaDB", error))?;
    engines.add(MariaDbEngine(database.clone()));
    Ok(AccountPorts {
        accounts: database.accounts(),
        sessions: database.sessions(),
        identities: database.identities(),
        security_events: database.security_events(),
        failures: database.failures(),
        secret: database.secret(),
        id: database.accounts_id(),
    })
}

/// Connects to an empty database that the accounts of `folder` are moved into. Also returns whether they are there.
pub(super) async fn move_destination(
    config: &Config,
    folder: &MovingFolder,
) -> Result<(MoveDestination, bool)> {
    let of_folder = |error| with_causes("the folder", error);
    let identity = Identity {
        secret: folder.secret().await.map_err(of_folder)?,
        accounts_id: folder.accounts_id().await.map_err(of_folder)?,
    };
    let destination = MariaDb::connect_for_move(options(config)?, identity).await;
    destination.map_err(|error| with_causes("MariaDB", error))
}

/// Tests the connection to the servers, if this process uses them.
pub(crate) async fn probe_mariadb(config: &Config) -> Option<Result<String>> {
    if !config.stores_accounts_in(AccountsStore::MariaDb) {
        return None;
    }
    Some(probe(config).await)
}

async fn probe(config: &Config) -> Result<String> {
    let found = MariaDb::probe(options(config)?).await;
    let found = found.map_err(|error| with_causes("MariaDB", error));
    let found = found.with_context(|| describe_setting("mariadb.nodes", &config.mariadb.nodes))?;
    Ok(format!("MariaDB: connected; {}", found.join("; ")))
}

fn options(config: &Config) -> Result<Options> {
    let mariadb = &config.mariadb;
    let password = secret_file("mariadb.password_file", &mariadb.password_file)?;
    let password = password.unwrap_or_default().into();
    let nodes = mariadb.nodes.clone();
    Ok(Options {
        tls: tls(mariadb.tls, "mariadb.ca_file", &mariadb.ca_file)?,
        writers: mariadb.write_connections,
        readers: mariadb.read_connections,
        ..Options::new(nodes, mariadb.database.as_str(), mariadb.username.as_str(), password)
    })
}

/// MariaDB as an [`Engine`]: it is backed up with its own tools.
struct MariaDbEngine(MariaDb);

#[async_trait]
impl Engine for MariaDbEngine {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    async fn replace_secret(&self) -> lodge_domain::Result<()> {
        self.0.replace_secret().await
    }

    async fn remove_expired(
        &self,
        now: Timestamp,
        _: SignedDuration,
    ) -> lodge_domain::Result<bool> {
        self.0.remove_expired(now).await
    }

    async fn close(&self) -> lodge_domain::Result<()> {
        let database = self.0.clone();
        let close = tokio::task::spawn_blocking(move || database.close());
        if close.await.map_err(Error::internal)? {
            return Ok(());
        }
        Err(Error::unavailable("the connections to MariaDB did not end in time"))
    }
}
