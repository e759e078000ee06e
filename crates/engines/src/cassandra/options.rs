//! Connection options of Cassandra.

use secrecy::SecretString;

use crate::Tls;

/// How to reach the cluster, and which keyspace to use.
#[derive(Debug, Clone)]
pub struct Options {
    /// Contact points, as `host:port`; they report the other nodes.
    pub nodes: Vec<String>,
    /// The keyspace: 1 to 48 letters, digits and underscores.
    pub keyspace: String,
    /// Replication factor of the keyspace when it is created; every promise needs 3.
    pub copies: u8,
    /// The login; `None` if the cluster does not authenticate clients.
    pub login: Option<Login>,
    /// TLS, with a certificate that names the node's address; `None` for plain connections.
    pub tls: Option<Tls>,
}

/// A user and a password.
#[derive(Debug, Clone)]
pub struct Login {
    /// The user.
    pub username: String,
    /// The password.
    pub password: SecretString,
}
