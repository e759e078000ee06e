//! Connection options of MariaDB.

use std::time::Duration;

use secrecy::SecretString;

use crate::Tls;

/// How to reach the servers, and which database to use.
#[derive(Debug, Clone)]
pub struct Options {
    /// One server, or the nodes of one Galera cluster, as `host:port`; the first that can be used is used. Processes should
    /// have the same list: then they use the same node.
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
