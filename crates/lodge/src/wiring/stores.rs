//! Which engine each app is on.
//!
//! What belongs to an app is in its own store: API keys are with links, whose owners they are; the outcome
//! of a write with an Idempotency-Key is where the write is, in the same transaction; and what is derived
//! from the installation's secret (manage keys, codes on passes) is derived from the secret of the store
//! that holds the data, so that both move together. What pages sign is signed with the secret of the
//! links' store, which all web processes share.

use std::sync::Arc;

use anyhow::Result;
use futures_util::future::BoxFuture;
use lodge_domain::{
    accounts::{AccountStore, IdentityStore, SessionStore},
    board::BoardStores,
    keys::KeyStore,
    links::ClickStore,
    rides::RideStores,
    secret::InstallationSecret,
};
use lodge_local::{CachedGates, CachedKeys, CachedLinks};
use lodge_sqlite::{Folder, Options, Sqlite};

use super::{
    board::BoardPorts,
    cluster,
    engine::{Engine, Engines},
    rides::RidePorts,
};
use crate::config::{
    Config,
    stores::{AppStore, LinkStore},
};

/// The ports of each app that this process keeps, and the engines behind them.
pub(super) struct Stores {
    pub(super) engines: Engines,
    pub(super) links: LinkPorts,
    pub(super) accounts: Option<AccountPorts>,
    pub(super) rides: Option<RidePorts>,
    pub(super) board: Option<BoardPorts>,
}

/// The ports of links.
pub(super) struct LinkPorts {
    pub(super) links: Arc<CachedLinks>,
    pub(super) clicks: Arc<dyn ClickStore>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) secret: InstallationSecret,
    /// What stores later, if that is wanted.
    pub(super) behind: Option<BoxFuture<'static, ()>>,
}

/// The ports of accounts.
pub(super) struct AccountPorts {
    pub(super) accounts: Arc<dyn AccountStore>,
    pub(super) sessions: Arc<dyn SessionStore>,
    pub(super) identities: Arc<dyn IdentityStore>,
    pub(super) secret: InstallationSecret,
}

/// The data folder of a process that keeps nothing in it but the administrators' socket.
struct EmptyFolder {
    _ours: Folder,
}

impl Engine for EmptyFolder {
    fn name(&self) -> &'static str {
        "the data folder"
    }
}

impl Stores {
    /// Opens the engines that the configuration names for the apps that this process keeps.
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut engines = Engines::default();
        let sqlite = if config.keeps_in_folder() {
            let sqlite = Sqlite::open(&config.data, &options(config))?;
            engines.add(sqlite.clone());
            Some(sqlite)
        } else {
            engines.add(EmptyFolder { _ours: Folder::lock(&config.data)? });
            None
        };
        let links = match &sqlite {
            Some(sqlite) if !config.has_links_on(LinkStore::Cassandra) => {
                links_on_sqlite(sqlite, config).await?
            }
            _ => cluster::links(config, &mut engines).await?,
        };
        let sqlite = sqlite.as_ref();
        let accounts = config.keeps_accounts().then(|| match config.accounts.store {
            AppStore::Sqlite => sqlite.map(accounts_on_sqlite),
        });
        let rides = config.answers_for_rides().then(|| match config.rides.store {
            AppStore::Sqlite => sqlite.map(rides_on_sqlite),
        });
        let board = config.answers_for_board().then(|| match config.board.store {
            AppStore::Sqlite => sqlite.map(board_on_sqlite),
        });
        Ok(Self {
            engines,
            links,
            accounts: accounts.flatten(),
            rides: rides.flatten(),
            board: board.flatten(),
        })
    }
}

async fn links_on_sqlite(sqlite: &Sqlite, config: &Config) -> Result<LinkPorts> {
    sqlite.keep_mode(config.links.mode).await?;
    Ok(LinkPorts {
        links: Arc::new(CachedLinks::new(sqlite.links(), cache_bytes(config))),
        clicks: sqlite.clicks(),
        keys: Arc::new(CachedKeys::new(sqlite.keys())),
        secret: sqlite.secret(),
        behind: None,
    })
}

fn accounts_on_sqlite(sqlite: &Sqlite) -> AccountPorts {
    AccountPorts {
        accounts: sqlite.accounts(),
        sessions: sqlite.sessions(),
        identities: sqlite.identities(),
        secret: sqlite.secret(),
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
            reports: sqlite.board_reports(),
            pictures: sqlite.board_pictures(),
        },
        bots: Arc::new(CachedKeys::new(sqlite.bots())),
        hooks: sqlite.board_hooks(),
    }
}

/// How much memory cached links may take, in bytes.
pub(super) fn cache_bytes(config: &Config) -> u64 {
    u64::from(config.embedded.link_cache_mib) << 20
}

/// How large the engine in the data folder may be.
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
