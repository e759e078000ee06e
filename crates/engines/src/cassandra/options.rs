//! Where Cassandra is.

use secrecy::SecretString;

use crate::Tls;

/// Where the cluster is, and what of it is ours.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nodes to begin with, as `host:port`; the others are learnt from them.
    pub nodes: Vec<String>,
    /// The keyspace, 1 to 48 letters, digits and underscores.
    pub keyspace: String,
    /// Copies of each row, if the keyspace is yet to be made; 3 keep every promise.
    pub copies: u8,
    /// How to sign in, where the cluster asks for it.
    pub login: Option<Login>,
    /// Speak TLS; a node's certificate names its address.
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
