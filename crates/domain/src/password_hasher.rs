//! The port that hashes passwords.

use std::net::IpAddr;

use crate::{
    Result,
    accounts::AccountId,
    caller::Owner,
    network::site_of,
    passwords::{Password, PasswordHash},
};

/// Hashes passwords on a bounded pool of their own. A full pool refuses at once with [`Error::Unavailable`](crate::Error::Unavailable), so
/// that hashing never slows other work.
#[async_trait::async_trait]
pub trait PasswordHasher: Send + Sync {
    /// Hashes `password` with a new salt.
    async fn hash(&self, of: PasswordOf, password: Password) -> Result<PasswordHash>;
    /// Whether `password` matches `hash`.
    async fn verify(&self, of: PasswordOf, password: Password, hash: PasswordHash) -> Result<bool>;
}

/// Whose password is hashed. Passwords of accounts and those of links wait in queues of their own, and each queue is
/// fair between these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordOf {
    /// Of an account, sent by a client at this address; `None` where other limits apply.
    Client(Option<IpAddr>),
    /// Of an account that is signed in.
    Account(AccountId),
    /// Of a link of this owner; `None` for links without one.
    Link(Option<Owner>),
    /// Of a link, sent by a visitor at this address.
    Visitor(Option<IpAddr>),
}

impl PasswordOf {
    /// Returns the caller whose share of a queue this uses: of an IPv6 address its site.
    #[must_use]
    pub fn share(self) -> Self {
        match self {
            Self::Client(from) => Self::Client(from.map(site_of)),
            Self::Visitor(from) => Self::Visitor(from.map(site_of)),
            Self::Account(_) | Self::Link(_) => self,
        }
    }
}
