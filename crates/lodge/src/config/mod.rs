//! The configuration: one TOML file, in which each key is also an environment variable. `docs/lodge.toml`
//! documents each key with its unit and defines the defaults. The configuration is read and checked completely
//! before any file or port is opened.

mod accounts;
mod board;
mod engines;
mod http;
mod listen;
mod log;
pub(crate) mod options;
mod providers;
mod rides;
mod site;
pub(crate) mod sources;
pub(crate) mod stores;

use std::{net::SocketAddr, path::PathBuf};

use clap::ValueEnum;
use lodge_domain::links::Mode;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    board::BoardConfig,
    engines::{CassandraConfig, MariadbConfig, RabbitmqConfig, RedisConfig, S3Config},
    log::{LogConfig, LogFormat},
    providers::ProviderConfig,
    rides::{LiftConfig, ResortConfig, RidesConfig},
    site::SiteConfig,
};
use self::{
    http::HttpConfig,
    stores::{AccountsStore, AppStore, LinkStore, PictureStorage},
};

/// An app that this process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum App {
    /// Short links.
    Links,
    /// Accounts.
    Accounts,
    /// Lift rides.
    Rides,
    /// The message board; also enables accounts.
    Board,
}

/// A role of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Serves HTTP to the public.
    Web,
    /// Stores accounts, for itself and for web processes.
    Accounts,
    /// Drains queues into the store.
    Worker,
}

impl Config {
    /// Returns whether this process serves accounts over HTTP.
    pub(crate) fn serves_accounts(&self) -> bool {
        self.apps.contains(&App::Accounts) && self.roles.contains(&Role::Web)
    }

    /// Returns whether this process serves rides over HTTP, and so stores them.
    pub(crate) fn serves_rides(&self) -> bool {
        self.apps.contains(&App::Rides) && self.roles.contains(&Role::Web)
    }

    /// Returns whether this process serves the board over HTTP, and so stores it.
    pub(crate) fn serves_board(&self) -> bool {
        self.apps.contains(&App::Board) && self.roles.contains(&Role::Web)
    }

    /// Returns whether this process reads or writes links in `store`.
    pub(crate) fn uses_link_store(&self, store: LinkStore) -> bool {
        let has_links = self.apps.contains(&App::Links)
            && self.roles.iter().any(|role| matches!(role, Role::Web | Role::Worker));
        has_links && self.links.store == store
    }

    /// Returns whether links are in a cluster that this process does not use.
    pub(crate) fn has_remote_links(&self) -> bool {
        self.links.store == LinkStore::Cassandra && !self.uses_link_store(LinkStore::Cassandra)
    }

    /// Returns the apps whose data is only in this process's data folder, although other processes serve the same
    /// links or accounts.
    pub(crate) fn unshared_apps(&self) -> Vec<&'static str> {
        let is_shared = self.uses_link_store(LinkStore::Cassandra)
            || self.stores_accounts_in(AccountsStore::MariaDb);
        let accounts_in_folder = self.stores_accounts_in(AccountsStore::Sqlite);
        let has_links = self.apps.contains(&App::Links);
        let alone = [
            ("links", has_links && self.uses_link_store(LinkStore::Sqlite)),
            ("accounts", accounts_in_folder && self.roles.contains(&Role::Web)),
            ("rides", self.serves_rides()),
            ("board", self.serves_board()),
        ];
        alone.into_iter().filter(|(_, is_kept)| is_shared && *is_kept).map(|(app, _)| app).collect()
    }

    /// Returns whether this process opens the database in the data folder. Links are in it unless this process
    /// uses Cassandra; each other app is in it if this process stores that app on `SQLite`.
    pub(crate) fn uses_data_folder(&self) -> bool {
        !self.uses_link_store(LinkStore::Cassandra)
            || self.stores_accounts_in(AccountsStore::Sqlite)
            || (self.serves_rides() && self.rides.store == AppStore::Sqlite)
            || (self.serves_board() && self.board.store == AppStore::Sqlite)
    }

    /// Returns whether this process stores accounts.
    pub(crate) fn stores_accounts(&self) -> bool {
        self.apps.contains(&App::Accounts) && self.roles.contains(&Role::Accounts)
    }

    /// Returns whether this process stores accounts in `store`.
    pub(crate) fn stores_accounts_in(&self, store: AccountsStore) -> bool {
        self.stores_accounts() && self.accounts.store == store
    }
}

/// All settings. `docs/lodge.toml` documents each key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) apps: Vec<App>,
    pub(crate) roles: Vec<Role>,
    pub(crate) public_url: String,
    pub(crate) data: PathBuf,
    pub(crate) site: SiteConfig,
    pub(crate) http: HttpConfig,
    pub(crate) ops: OpsConfig,
    pub(crate) limits: LimitsConfig,
    pub(crate) log: LogConfig,
    pub(crate) links: LinksConfig,
    pub(crate) accounts: AccountsConfig,
    pub(crate) rides: RidesConfig,
    pub(crate) board: BoardConfig,
    pub(crate) pictures: PicturesConfig,
    pub(crate) embedded: EmbeddedConfig,
    pub(crate) cassandra: CassandraConfig,
    pub(crate) redis: RedisConfig,
    pub(crate) rabbitmq: RabbitmqConfig,
    pub(crate) mariadb: MariadbConfig,
    pub(crate) s3: S3Config,
    pub(crate) passwords: PasswordsConfig,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpsConfig {
    #[serde(deserialize_with = "listen::deserialize")]
    pub(crate) listen: SocketAddr,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    pub(crate) creations_per_minute: u32,
    pub(crate) owner_creations_per_minute: u32,
    pub(crate) owner_creations_per_day: u32,
    pub(crate) sign_ups_per_minute: u32,
    pub(crate) attempts_per_minute: u32,
    pub(crate) pictures_per_minute: u32,
    pub(crate) rides_per_minute: u32,
    pub(crate) posts_per_minute: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinksConfig {
    pub(crate) store: LinkStore,
    pub(crate) mode: Mode,
    pub(crate) writes: Writes,
    pub(crate) reserved_days: u32,
    pub(crate) anonymous_creation: bool,
    pub(crate) blocklist: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountsConfig {
    pub(crate) store: AccountsStore,
    pub(crate) open_sign_up: bool,
    pub(crate) breached_passwords: PathBuf,
    pub(crate) session_days: u32,
    pub(crate) idle_days: u32,
    pub(crate) key_file: PathBuf,
    #[serde(deserialize_with = "listen::deserialize")]
    pub(crate) listen: SocketAddr,
    pub(crate) connections_max: usize,
    pub(crate) servers: Vec<String>,
    pub(crate) connections: usize,
    pub(crate) tls: bool,
    pub(crate) ca_file: PathBuf,
    pub(crate) certificate_file: PathBuf,
    pub(crate) certificate_key_file: PathBuf,
    pub(crate) session_cache_s: u64,
    pub(crate) providers: Vec<ProviderConfig>,
    pub(crate) pictures: PathBuf,
    pub(crate) picture_kib_max: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PicturesConfig {
    pub(crate) store: PictureStorage,
}

/// How a PUT in replace mode reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Writes {
    /// Write-through: stored before it is acknowledged.
    Through,
    /// Write-behind: acknowledged by RabbitMQ and Redis, stored by a worker.
    Behind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddedConfig {
    pub(crate) link_cache_mib: u32,
    pub(crate) page_cache_mib: u32,
    pub(crate) readers: usize,
    pub(crate) queue_max: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordsConfig {
    pub(crate) threads: usize,
    pub(crate) queue_max: usize,
}

/// The documented configuration file: every setting with its default.
const DOCUMENTED: &str = include_str!("../../../../docs/lodge.toml");

impl Default for Config {
    fn default() -> Self {
        let documented: toml::Table = DOCUMENTED.parse().expect("docs/lodge.toml is TOML");
        // As the settings are read (`sources`), so that what reads them is compiled once.
        serde_path_to_error::deserialize(documented)
            .expect("a test checks that docs/lodge.toml has every key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_configuration_is_the_default_one_with_every_key() {
        let documented: toml::Table = DOCUMENTED.parse().unwrap();
        let default = toml::Table::try_from(Config::default()).unwrap();
        assert_eq!(documented, default);
    }
}
