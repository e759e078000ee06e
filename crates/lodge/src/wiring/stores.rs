//! The engine of each app.
//!
//! Each store holds all data of its app. API keys are in the store of links, which they own. The stored outcome
//! of a write with an Idempotency-Key is in the store of the write, in the same transaction. Values derived from
//! the installation secret (manage keys, codes on passes) use the secret of the store that holds the data, so that
//! both move together. Pages sign their values with the secret of a store that all web processes share, if there is
//! one.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use lodge_domain::{
    accounts::{AccountStore, IdentityStore, SessionStore},
    board::BoardStores,
    failures::Failures,
    key_sessions::KeySessionStore,
    keys::KeyStore,
    links::ClickStore,
    rides::RideStores,
    secret::InstallationSecret,
    security::SecurityEventStore,
};
use lodge_local::{CachedGates, CachedKeys, CachedLinks, CountedFailures};
use lodge_sqlite::{Folder, Options, Sqlite};

use super::{board::BoardPorts, cluster, engine::Engines, mariadb, rides::RidePorts};
use crate::config::{
    Config,
    stores::{AccountsStore, AppStore, LinkStore},
};

/// The ports of each app that this process stores, and their engines.
pub(super) struct Stores {
    pub(super) engines: Engines,
    pub(super) links: LinkPorts,
    pub(super) accounts: Option<AccountPorts>,
    pub(super) rides: Option<RidePorts>,
    pub(super) board: Option<BoardPorts>,
    /// The secret for what belongs to no app, such as the values that pages sign.
    pub(super) site_secret: InstallationSecret,
}

/// The ports of links.
pub(super) struct LinkPorts {
    pub(super) links: Arc<CachedLinks>,
    pub(super) clicks: Arc<dyn ClickStore>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) key_sessions: Arc<dyn KeySessionStore>,
    pub(super) secret: InstallationSecret,
    /// The background work of write-behind, if configured.
    pub(super) write_behind: Option<BoxFuture<'static, ()>>,
}

/// The ports of accounts.
pub(super) struct AccountPorts {
    pub(super) accounts: Arc<dyn AccountStore>,
    pub(super) sessions: Arc<dyn SessionStore>,
    pub(super) identities: Arc<dyn IdentityStore>,
    pub(super) security_events: Arc<dyn SecurityEventStore>,
    pub(super) failures: Arc<dyn Failures>,
    pub(super) secret: InstallationSecret,
    /// The id by which links are bound to these accounts.
    pub(super) id: [u8; 32],
}

impl Stores {
    /// Opens the configured engines of the apps that this process stores.
    pub(super) async fn open(config: &Config) -> Result<Self> {
        for setting in config.unencrypted() {
            tracing::warn!("{setting}: connections to other machines are not encrypted");
        }
        for app in config.unshared_apps() {
            tracing::warn!(app, "stored in the data folder, which other processes cannot read");
        }
        let (mut engines, sqlite) = if config.uses_data_folder() {
            let sqlite = Sqlite::open(&config.data, &options(config))?;
            let mut engines = Engines::default();
            engines.add(sqlite.clone());
            (engines, Some(sqlite))
        } else {
            (Engines::locked(Folder::lock(&config.data)?), None)
        };
        let in_folder = || sqlite.as_ref().context("the data folder is not open");
        let accounts = match config.accounts.store {
            _ if !config.stores_accounts() => None,
            AccountsStore::Sqlite => Some(accounts_on_sqlite(in_folder()?)),
            AccountsStore::MariaDb => Some(mariadb::accounts(config, &mut engines).await?),
        };
        let owners = accounts.as_ref().map(|accounts| accounts.id);
        let links = if config.uses_link_store(LinkStore::Cassandra) {
            cluster::links(config, &mut engines, owners).await?
        } else {
            links_on_sqlite(in_folder()?, config, owners).await?
        };
        let shared = accounts.as_ref().filter(|_| {
            !config.uses_link_store(LinkStore::Cassandra)
                && config.accounts.store == AccountsStore::MariaDb
        });
        let site_secret = shared.map_or(&links.secret, |accounts| &accounts.secret).clone();
        let kept = |is_kept: bool, AppStore::Sqlite| is_kept.then(in_folder).transpose();
        let rides = kept(config.serves_rides(), config.rides.store)?;
        let board = kept(config.serves_board(), config.board.store)?;
        Ok(Self {
            links,
            accounts,
            rides: rides.map(rides_on_sqlite),
            board: board.map(board_on_sqlite),
            site_secret,
            engines,
        })
    }
}

/// `owners` is the id of the accounts to which the links refer by number, so only one accounts store may assign these
/// numbers.
async fn links_on_sqlite(
    sqlite: &Sqlite,
    config: &Config,
    owners: Option<[u8; 32]>,
) -> Result<LinkPorts> {
    if config.links.store == LinkStore::Sqlite {
        sqlite.store_mode(config.links.mode).await?;
        if let Some(owners) = owners {
            sqlite.bind_links(owners).await?;
        }
    }
    Ok(LinkPorts {
        links: Arc::new(CachedLinks::new(sqlite.links(), cache_bytes(config))),
        clicks: sqlite.clicks(),
        keys: Arc::new(CachedKeys::new(sqlite.keys())),
        key_sessions: sqlite.key_sessions(),
        secret: sqlite.secret(),
        write_behind: None,
    })
}

fn accounts_on_sqlite(sqlite: &Sqlite) -> AccountPorts {
    AccountPorts {
        accounts: sqlite.accounts(),
        sessions: sqlite.sessions(),
        identities: sqlite.identities(),
        security_events: sqlite.security_events(),
        failures: Arc::new(CountedFailures::default()),
        secret: sqlite.secret(),
        id: sqlite.accounts_id(),
    }
}

fn rides_on_sqlite(sqlite: &Sqlite) -> RidePorts {
    RidePorts {
        stores: RideStores {
            log: sqlite.ride_log(),
            tallies: sqlite.ride_tallies(),
            search: sqlite.ride_search(),
        },
        gates: Arc::new(CachedGates::new(sqlite.gates())),
        passes: sqlite.passes(),
        secret: sqlite.secret(),
    }
}

fn board_on_sqlite(sqlite: &Sqlite) -> BoardPorts {
    BoardPorts {
        stores: BoardStores {
            log: sqlite.board_log(),
            channels: sqlite.board_channels(),
            people: sqlite.board_people(),
            positions: sqlite.board_positions(),
            reports: sqlite.board_reports(),
            pictures: sqlite.board_pictures(),
        },
        bots: Arc::new(CachedKeys::new(sqlite.bots())),
        hooks: sqlite.board_hooks(),
        id: sqlite.accounts_id(),
    }
}

/// Returns the size of the link cache, in bytes.
pub(super) fn cache_bytes(config: &Config) -> u64 {
    u64::from(config.embedded.link_cache_mib) << 20
}

/// Returns the options of the embedded engine.
pub(super) fn options(config: &Config) -> Options {
    Options {
        page_cache_bytes: (config.embedded.page_cache_mib as usize) << 20,
        reader_threads: config.embedded.readers,
        reader_queue: config.embedded.queue_max,
        queue_per_app: config.embedded.queue_max,
        rides_unwritten: config.rides.unwritten_max,
        ..Options::default()
    }
}
