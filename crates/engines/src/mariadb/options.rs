//! Where MariaDB is, and how it is spoken to.

use std::{sync::Arc, time::Duration};

use lodge_domain::{Error, Result};
use mysql::{OptsBuilder, SslOpts, consts::CapabilityFlags};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::NamedTempFile;

use crate::Tls;

/// Statements that a connection keeps prepared.
const PREPARED_MAX: usize = 256;

/// How much longer than the server's own limit an answer is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// Where the servers are, and what of them is ours.
#[derive(Debug, Clone)]
pub struct Options {
    /// The servers, as `host:port`; the first that answers is used.
    pub nodes: Vec<String>,
    /// The database, which is there and empty, or made by Lodge.
    pub database: String,
    /// The user; it may create tables.
    pub username: String,
    /// The user's password.
    pub password: SecretString,
    /// Speak TLS; a server's certificate names its address.
    pub tls: Option<Tls>,
    /// Connections that write. Commits that wait at once share an fsync. Default 16.
    pub writers: usize,
    /// Connections that read by a key. Default 8.
    pub readers: usize,
    /// Connections that read many rows. Default 2.
    pub scanners: usize,
    /// Requests of each app that may wait for connections of each of these kinds; past it they are
    /// refused. Default 4096.
    pub queue_per_app: usize,
    /// How long a connection may take to come about. Default 1 s.
    pub connect_wait: Duration,
    /// How long a statement may take. Default 5 s.
    pub statement_wait: Duration,
    /// How long a statement may wait for a lock, in whole seconds, before its transaction runs again.
    /// Default 1 s.
    pub lock_wait: Duration,
    /// How long closing may take. Default 20 s.
    pub close_wait: Duration,
}

impl Options {
    /// The defaults, for a database on these servers.
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
    /// Statements that make tables, which may take long.
    Migrate,
}

/// How long a statement may take that makes a table.
const MIGRATE: Duration = Duration::from_mins(1);

/// How the servers are connected to.
pub(super) struct Servers {
    nodes: Vec<(String, u16)>,
    options: Options,
    /// The certificates that are trusted: the driver reads them from a file, for every connection.
    authorities: Option<NamedTempFile>,
}

impl Servers {
    pub(super) fn new(options: Options) -> Result<Arc<Self>> {
        let nodes = options.nodes.iter().map(|node| parse(node)).collect::<Result<_>>()?;
        let authorities = options.tls.as_ref().map(Tls::authorities_file).transpose()?;
        Ok(Arc::new(Self { nodes, options, authorities }))
    }

    /// Connects to the first that answers.
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
            // A change says how many rows it matched, not how many it made different.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .stmt_cache_size(Some(PREPARED_MAX))
            .tcp_connect_timeout(Some(options.connect_wait))
            .read_timeout(Some(statement_wait + GRACE))
            .write_timeout(Some(options.statement_wait))
            .init(vec![self.session(of_use, statement_wait)])
    }

    /// What the server is told first on each connection. It rolls back for a client that has gone away
    /// without a word, which would keep its locks.
    fn session(&self, of_use: Use, statement_wait: Duration) -> String {
        format!(
            "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin, \
             sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', \
             tx_isolation = '{}', tx_read_only = {}, autocommit = 1, \
             innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, max_statement_time = {}, \
             idle_transaction_timeout = {IDLE_TRANSACTION_SECONDS}",
            // A transaction that only reads is there to see one moment.
            if of_use == Use::Read { "REPEATABLE-READ" } else { "READ-COMMITTED" },
            u8::from(of_use == Use::Read),
            self.options.lock_wait.as_secs().max(1),
            statement_wait.as_secs().max(1),
            statement_wait.as_secs_f64(),
        )
    }
}

/// Seconds for which a transaction may wait for its client.
const IDLE_TRANSACTION_SECONDS: u32 = 5;

/// Takes `host:port`; an IPv6 host stands in brackets.
fn parse(node: &str) -> Result<(String, u16)> {
    let refused = || Error::invalid("mariadb.nodes", "must be host:port");
    let (host, port) = node.rsplit_once(':').ok_or_else(refused)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(refused());
    }
    Ok((host.to_owned(), port.parse().map_err(|_| refused())?))
}
