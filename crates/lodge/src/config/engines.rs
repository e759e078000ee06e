//! The settings of Cassandra, Redis, RabbitMQ, MariaDB and S3.

use std::{net::IpAddr, path::PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use lodge_domain::links::Mode;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{
    Config, Writes,
    stores::{AccountsStore, LinkStore, PictureStorage},
};

/// The most connections to MariaDB for one purpose; each has a thread.
const CONNECTIONS_MAX: usize = 500;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CassandraConfig {
    pub(crate) nodes: Vec<String>,
    pub(crate) keyspace: String,
    pub(crate) copies: u8,
    pub(crate) username: String,
    pub(crate) password_file: PathBuf,
    pub(crate) tls: bool,
    pub(crate) ca_file: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedisConfig {
    pub(crate) sentinels: Vec<String>,
    pub(crate) masters: Vec<String>,
    pub(crate) username: String,
    pub(crate) password_file: PathBuf,
    pub(crate) sentinel_username: String,
    pub(crate) sentinel_password_file: PathBuf,
    pub(crate) tls: bool,
    pub(crate) ca_file: PathBuf,
    pub(crate) deadline_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RabbitmqConfig {
    pub(crate) nodes: Vec<String>,
    pub(crate) vhost: String,
    pub(crate) username: String,
    pub(crate) password_file: PathBuf,
    pub(crate) tls: bool,
    pub(crate) ca_file: PathBuf,
    pub(crate) copies: u8,
    /// The maximum number of links in the queue.
    pub(crate) queue_max: u32,
    /// Concurrent writes per worker.
    pub(crate) store_at_once: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MariadbConfig {
    pub(crate) nodes: Vec<String>,
    pub(crate) database: String,
    pub(crate) username: String,
    pub(crate) password_file: PathBuf,
    pub(crate) tls: bool,
    pub(crate) ca_file: PathBuf,
    pub(crate) write_connections: usize,
    pub(crate) read_connections: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct S3Config {
    pub(crate) endpoint: String,
    pub(crate) region: String,
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key_file: PathBuf,
    pub(crate) ca_file: PathBuf,
}

impl S3Config {
    /// Returns whether the server is reached over TLS. Amazon's always is.
    pub(crate) fn has_tls(&self) -> bool {
        !Url::parse(&self.endpoint).is_ok_and(|endpoint| endpoint.scheme() == "http")
    }

    /// Returns whether the server is on this machine.
    fn is_local(&self) -> bool {
        let endpoint = Url::parse(&self.endpoint);
        match endpoint.as_ref().ok().and_then(Url::host) {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }
}

impl RedisConfig {
    /// Returns whether Redis is configured.
    pub(crate) fn is_used(&self) -> bool {
        !self.sentinels.is_empty()
    }
}

impl Config {
    /// Returns whether this process has copies of links in Redis.
    pub(crate) fn copies_links(&self) -> bool {
        self.redis.is_used() && self.uses_link_store(LinkStore::Cassandra)
    }

    /// Returns whether this process has copies of sessions in Redis.
    pub(crate) fn copies_sessions(&self) -> bool {
        self.redis.is_used()
            && self.accounts.session_cache_s > 0
            && self.stores_accounts_in(AccountsStore::MariaDb)
    }

    /// Returns what leaves connections to other machines unencrypted.
    pub(crate) fn unencrypted(&self) -> Vec<&'static str> {
        let connections = [
            ("cassandra.tls is false", self.cassandra.tls, &self.cassandra.nodes),
            ("redis.tls is false", self.redis.tls, &self.redis.sentinels),
            ("rabbitmq.tls is false", self.rabbitmq.tls, &self.rabbitmq.nodes),
            ("mariadb.tls is false", self.mariadb.tls, &self.mariadb.nodes),
            ("accounts.tls is false", self.accounts.tls, &self.accounts.servers),
        ];
        let leaves = |servers: &[String]| servers.iter().any(|server| !is_on_this_machine(server));
        let open = connections.into_iter().filter(|(_, tls, servers)| !tls && leaves(servers));
        let mut settings: Vec<_> = open.map(|(setting, ..)| setting).collect();
        let accounts = &self.accounts;
        let is_open = !accounts.tls && !accounts.listen.ip().is_loopback();
        if is_open && self.stores_accounts() && accounts.accepts_web_tier() {
            settings.push("accounts.tls is false");
        }
        let uses_s3 = self.pictures.store == PictureStorage::S3;
        if uses_s3 && !self.s3.has_tls() && !self.s3.is_local() {
            settings.push("s3.endpoint is an http URL");
        }
        settings
    }
}

/// Whether `host:port` names this machine.
fn is_on_this_machine(server: &str) -> bool {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

pub(super) fn check(config: &Config) -> Result<()> {
    match config.links.store {
        LinkStore::Cassandra => check_cassandra(&config.cassandra)?,
        LinkStore::Sqlite
            if config.redis.is_used() && config.accounts.store == AccountsStore::Sqlite =>
        {
            bail!(
                "redis.sentinels requires links.store = \"cassandra\" or accounts.store = \"mariadb\": Redis has \
                 copies of what several processes share"
            );
        }
        LinkStore::Sqlite if !config.cassandra.nodes.is_empty() => {
            bail!(
                "cassandra.nodes requires links.store = \"cassandra\"; with \"sqlite\" links are in the data folder"
            );
        }
        LinkStore::Sqlite => {}
    }
    check_redis(&config.redis)?;
    check_mariadb(config)?;
    check_s3(config)?;
    check_writes(config)
}

fn check_s3(config: &Config) -> Result<()> {
    let s3 = &config.s3;
    if config.pictures.store == PictureStorage::Files {
        ensure!(
            s3.bucket.is_empty(),
            "s3.bucket requires pictures.store = \"s3\"; with \"files\" pictures are in folders"
        );
        return Ok(());
    }
    check_endpoint(&s3.endpoint)?;
    for (key, value) in [("region", &s3.region), ("bucket", &s3.bucket)] {
        ensure!(!value.is_empty(), "s3.{key} must be set with pictures.store = \"s3\"");
    }
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-';
    ensure!(
        (3..=63).contains(&s3.bucket.len()) && s3.bucket.bytes().all(is_name),
        "s3.bucket must be 3 to 63 lower-case letters, digits, dots and hyphens, not {:?}",
        s3.bucket
    );
    ensure!(
        !s3.access_key_id.is_empty() && !s3.secret_access_key_file.as_os_str().is_empty(),
        "s3.access_key_id and s3.secret_access_key_file must be set with pictures.store = \"s3\""
    );
    ensure!(
        !s3.prefix.starts_with('/') && !s3.prefix.ends_with('/'),
        "s3.prefix must neither begin nor end with a slash"
    );
    ensure!(
        s3.has_tls() || s3.ca_file.as_os_str().is_empty(),
        "s3.ca_file requires an https URL in s3.endpoint"
    );
    Ok(())
}

fn check_endpoint(endpoint: &str) -> Result<()> {
    if endpoint.is_empty() {
        return Ok(());
    }
    let url = Url::parse(endpoint).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    // A password would be in this text.
    let url = url
        .context("s3.endpoint must be an http or https URL, such as \"https://s3.example.org\"")?;
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        "s3.endpoint must have no password; use s3.access_key_id and s3.secret_access_key_file"
    );
    ensure!(
        url.query().is_none() && url.fragment().is_none(),
        "s3.endpoint must have no query and no fragment"
    );
    Ok(())
}

fn check_mariadb(config: &Config) -> Result<()> {
    let mariadb = &config.mariadb;
    if config.accounts.store == AccountsStore::Sqlite {
        ensure!(
            mariadb.nodes.is_empty(),
            "mariadb.nodes requires accounts.store = \"mariadb\"; with \"sqlite\" accounts are in the data folder"
        );
        return Ok(());
    }
    if !config.stores_accounts() {
        return Ok(());
    }
    if mariadb.nodes.is_empty() {
        bail!("mariadb.nodes must list at least one server, such as \"10.0.0.1:3306\"");
    }
    if mariadb.database.is_empty() || mariadb.username.is_empty() {
        bail!("mariadb.database and mariadb.username must be set");
    }
    if mariadb.password_file.as_os_str().is_empty() {
        bail!("mariadb.password_file must name a file with the password of {:?}", mariadb.username);
    }
    for (key, connections) in [
        ("write_connections", mariadb.write_connections),
        ("read_connections", mariadb.read_connections),
    ] {
        ensure!(
            (1..=CONNECTIONS_MAX).contains(&connections),
            "mariadb.{key} must be from 1 to {CONNECTIONS_MAX}, not {connections}"
        );
    }
    if !mariadb.tls && !mariadb.ca_file.as_os_str().is_empty() {
        bail!("mariadb.ca_file requires mariadb.tls = true");
    }
    Ok(())
}

fn check_cassandra(config: &CassandraConfig) -> Result<()> {
    if config.nodes.is_empty() {
        bail!("cassandra.nodes must list at least one node, such as \"10.0.0.1:9042\"");
    }
    let is_word = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !(1..=48).contains(&config.keyspace.len()) || !is_word(&config.keyspace) {
        let keyspace = &config.keyspace;
        bail!(
            "cassandra.keyspace must be 1 to 48 letters, digits and underscores, not {keyspace:?}"
        );
    }
    ensure!(config.copies > 0, "cassandra.copies must be at least 1, not 0");
    if config.username.is_empty() != config.password_file.as_os_str().is_empty() {
        bail!("cassandra.username and cassandra.password_file must be set together");
    }
    if !config.tls && !config.ca_file.as_os_str().is_empty() {
        bail!("cassandra.ca_file requires cassandra.tls = true");
    }
    Ok(())
}

fn check_redis(config: &RedisConfig) -> Result<()> {
    if config.is_used() && config.masters.is_empty() {
        bail!("redis.masters must list at least one master by its name in Sentinel");
    }
    ensure!(config.deadline_ms > 0, "redis.deadline_ms must be at least 1, not 0");
    if !config.tls && !config.ca_file.as_os_str().is_empty() {
        bail!("redis.ca_file requires redis.tls = true");
    }
    Ok(())
}

fn check_writes(config: &Config) -> Result<()> {
    if config.links.writes == Writes::Through {
        return Ok(());
    }
    ensure!(
        config.links.store == LinkStore::Cassandra,
        "links.writes = \"behind\" requires links.store = \"cassandra\""
    );
    ensure!(
        config.links.mode == Mode::Replace,
        "links.writes = \"behind\" requires links.mode = \"replace\": in claim mode the store decides each claim"
    );
    if !config.redis.is_used() || config.rabbitmq.nodes.is_empty() {
        bail!("links.writes = \"behind\" requires redis.sentinels and rabbitmq.nodes");
    }
    let rabbitmq = &config.rabbitmq;
    ensure!(rabbitmq.copies > 0, "rabbitmq.copies must be at least 1, not 0");
    ensure!(rabbitmq.queue_max > 0, "rabbitmq.queue_max must be at least 1, not 0");
    ensure!(rabbitmq.store_at_once > 0, "rabbitmq.store_at_once must be at least 1, not 0");
    if !rabbitmq.tls && !rabbitmq.ca_file.as_os_str().is_empty() {
        bail!("rabbitmq.ca_file requires rabbitmq.tls = true");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_on_this_machine() {
        for server in ["127.0.0.1:6379", "127.9.1.2:1", "[::1]:3306", "localhost:5672"] {
            assert!(is_on_this_machine(server), "{server}");
        }
        for server in ["10.0.0.1:6379", "[2600::1]:3306", "redis:6379", "localhost.example:1", ""] {
            assert!(!is_on_this_machine(server), "{server}");
        }
    }
}
