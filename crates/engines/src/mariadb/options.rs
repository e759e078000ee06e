//! Connection options of MariaDB.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use mysql::{OptsBuilder, SslOpts, consts::CapabilityFlags, prelude::Queryable as _};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::NamedTempFile;

use crate::Tls;

/// Size of a connection's cache of prepared statements.
const PREPARED_MAX: usize = 256;

/// How much longer than the server's own limit the client waits for an answer.
const GRACE: Duration = Duration::from_secs(1);

/// How to reach the servers, and which database to use.
#[derive(Debug, Clone)]
pub struct Options {
    /// The servers, as `host:port`; the first one that answers is used.
    pub nodes: Vec<String>,
    /// The database: it must exist, and be empty or created by Lodge.
    pub database: String,
    /// The user, which needs the right to create tables.
    pub username: String,
    /// The user's password.
    pub password: SecretString,
    /// TLS, with a certificate that names the server's address; `None` for a plain connection.
    pub tls: Option<Tls>,
    /// Connections that write. Concurrent commits share an fsync. Default 16.
    pub writers: usize,
    /// Connections for lookups by key. Default 8.
    pub readers: usize,
    /// Connections for reads of many rows. Default 2.
    pub scanners: usize,
    /// Requests of each app that may wait for each of the three pools; further ones are refused.
    /// Default 4096.
    pub queue_per_app: usize,
    /// Timeout of connecting. Default 1 s.
    pub connect_wait: Duration,
    /// Timeout of a statement. Default 5 s.
    pub statement_wait: Duration,
    /// Lock wait timeout in whole seconds, after which the transaction runs again. Default 1 s.
    pub lock_wait: Duration,
    /// Timeout of closing. Default 20 s.
    pub close_wait: Duration,
}

impl Options {
    /// Returns the defaults for a database on these servers.
    pub fn new(
        nodes: Vec<String>,
        database: impl Into<String>,
        username: impl Into<String>,
        password: SecretString,
    ) -> Self {
        Self {
            nodes,
            database: database.into(),
            username: username.into(),
            password,
            tls: None,
            writers: 16,
            readers: 8,
            scanners: 2,
            queue_per_app: 4096,
            connect_wait: Duration::from_secs(1),
            statement_wait: Duration::from_secs(5),
            lock_wait: Duration::from_secs(1),
            close_wait: Duration::from_secs(20),
        }
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Transactions.
    Write,
    /// Statements that only read.
    Read,
    /// Migrations, whose statements may take long.
    Migrate,
}

/// Timeout of a statement of a migration.
const MIGRATE: Duration = Duration::from_mins(1);

/// Connects to the servers.
pub(super) struct Servers {
    nodes: Vec<(String, u16)>,
    options: Options,
    /// The trusted certificates, which the driver reads from a file for every connection.
    authorities: Option<NamedTempFile>,
}

impl Servers {
    pub(super) fn new(options: Options) -> Result<Arc<Self>> {
        let nodes = options.nodes.iter().map(|node| parse(node)).collect::<Result<_>>()?;
        let authorities = options.tls.as_ref().map(Tls::authorities_file).transpose()?;
        Ok(Arc::new(Self { nodes, options, authorities }))
    }

    /// Connects to the first server that answers.
    pub(super) fn connect(&self, of_use: Use) -> mysql::Result<mysql::Conn> {
        let mut failed = mysql::Error::server_disconnected();
        for (host, port) in &self.nodes {
            match mysql::Conn::new(self.settings(host, *port, of_use)) {
                Ok(connection) => return Ok(connection),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Connects to each server. Returns the version of each that answers; fails if none does.
    pub(super) fn probe(&self) -> Result<Vec<String>> {
        let (mut found, mut failed) = (Vec::new(), None);
        for (host, port) in &self.nodes {
            let connected = mysql::Conn::new(self.settings(host, *port, Use::Read));
            let asked =
                connected.and_then(|mut connection| connection.query_first("SELECT VERSION()"));
            match asked {
                Ok(version) => {
                    let version: Option<String> = version;
                    found.push(format!("{host}:{port}: {}", version.unwrap_or_default()));
                }
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if found.is_empty() => Err(Error::unavailable(error)),
            _ => Ok(found),
        }
    }

    fn settings(&self, host: &str, port: u16, of_use: Use) -> OptsBuilder {
        let options = &self.options;
        let statement_wait = if of_use == Use::Migrate { MIGRATE } else { options.statement_wait };
        let trusted = self.authorities.as_ref().map(|file| file.path().to_owned());
        OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(port)
            .user(Some(&options.username))
            .pass(Some(options.password.expose_secret()))
            .db_name(Some(&options.database))
            .prefer_socket(false)
            .ssl_opts(trusted.map(|file| SslOpts::default().with_root_cert_path(Some(file))))
            // UPDATE returns the number of matched rows, not of changed ones.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .stmt_cache_size(Some(PREPARED_MAX))
            .tcp_connect_timeout(Some(options.connect_wait))
            .read_timeout(Some(statement_wait + GRACE))
            .write_timeout(Some(options.statement_wait))
            .init(vec![self.session(of_use, statement_wait)])
    }

    /// The statement that sets up each connection. With the idle timeout the server rolls back the
    /// transaction of a client that vanished, which would keep its locks otherwise.
    fn session(&self, of_use: Use, statement_wait: Duration) -> String {
        format!(
            "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin, \
             sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', \
             tx_isolation = '{}', tx_read_only = {}, autocommit = 1, \
             innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, max_statement_time = {}, \
             idle_transaction_timeout = {idle}",
            // A transaction that only reads needs one snapshot.
            if of_use == Use::Read { "REPEATABLE-READ" } else { "READ-COMMITTED" },
            u8::from(of_use == Use::Read),
            self.options.lock_wait.as_secs().max(1),
            statement_wait.as_secs().max(1),
            statement_wait.as_secs_f64(),
            idle = IDLE_TRANSACTION.as_secs(),
        )
    }
}

/// Time after which the server rolls back a transaction whose client is idle.
pub(super) const IDLE_TRANSACTION: Duration = Duration::from_secs(5);

/// Parses `host:port`; an IPv6 host is in brackets.
fn parse(node: &str) -> Result<(String, u16)> {
    let refused = || Error::invalid("mariadb.nodes", "must be host:port");
    let (host, port) = node.rsplit_once(':').ok_or_else(refused)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(refused());
    }
    Ok((host.to_owned(), port.parse().map_err(|_| refused())?))
}
