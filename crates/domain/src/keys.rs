//! API keys: their holders create links in their own name and list them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Clock, Error, Random, Result, secret,
    security::{self, SecurityActor, SecurityEventKind},
};

/// The prefix of every API key's token.
pub const TOKEN_PREFIX: &str = "lodge_";

/// An API key's number, which links store as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId(pub i64);

/// An API key, without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The number, from 1 on.
    pub id: KeyId,
    /// The name given at creation, 1 to 64 characters, unique.
    pub name: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of revocation; from then on the key is refused.
    pub revoked_at: Option<Timestamp>,
}

/// A store of API keys, with only the digests of their tokens.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Adds a key; [`Error::Conflict`] if the name is taken.
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey>;
    /// Returns the key with this token digest, including a revoked one.
    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>>;
    /// Returns the key with this number, including a revoked one.
    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>>;
    /// Returns all keys, oldest first.
    async fn list(&self) -> Result<Vec<ApiKey>>;
    /// Revokes the key called `name`; `None` if it does not exist. Idempotent.
    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>>;
}

/// The service that creates, authenticates and revokes API keys.
#[derive(Clone)]
pub struct Keys {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    prefix: &'static str,
    /// What a key is called in an error.
    noun: &'static str,
}

impl Keys {
    /// Creates the service over `store`.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { store, clock, random, prefix: TOKEN_PREFIX, noun: "API key" }
    }

    /// Returns the service with another token prefix, and another noun for a key in errors.
    #[must_use]
    pub fn of_kind(self, prefix: &'static str, noun: &'static str) -> Self {
        Self { prefix, noun, ..self }
    }

    /// Creates a key and returns it with its token, which cannot be retrieved later.
    pub async fn create(&self, name: &str) -> Result<(ApiKey, String)> {
        let name = parse_name(name)?;
        let token = secret::random_token(self.prefix, &*self.random);
        let key = self.store.add(name, secret::token_digest(&token), self.clock.now()).await?;
        self.record(SecurityEventKind::KeyCreated, name);
        Ok((key, token))
    }

    /// Returns the key that `token` belongs to, unless it is revoked.
    pub async fn authenticate(&self, token: &str) -> Result<ApiKey> {
        let found = self.store.find(secret::token_digest(token)).await?;
        let found = found.filter(|key| key.revoked_at.is_none());
        if let Some(key) = found.as_ref().filter(|_| self.prefix == TOKEN_PREFIX) {
            security::acting_as(SecurityActor::Key(key.id.0));
        }
        found.ok_or_else(|| {
            security::record(SecurityEventKind::KeyRefused, None, self.noun);
            Error::Unauthenticated(format!("this {} is unknown or revoked", self.noun).into())
        })
    }

    /// Returns the key with this number, unless it is revoked.
    pub async fn live(&self, id: KeyId) -> Result<Option<ApiKey>> {
        Ok(self.store.get(id).await?.filter(|key| key.revoked_at.is_none()))
    }

    /// Returns all keys, oldest first.
    pub async fn list(&self) -> Result<Vec<ApiKey>> {
        self.store.list().await
    }

    /// Revokes the key called `name`; its links stay.
    pub async fn revoke(&self, name: &str) -> Result<ApiKey> {
        let revoked = self.store.revoke(name, self.clock.now()).await?.ok_or_else(|| {
            Error::NotFound(format!("there is no {} with this name", self.noun).into())
        })?;
        self.record(SecurityEventKind::KeyRevoked, name);
        Ok(revoked)
    }

    fn record(&self, kind: SecurityEventKind, name: &str) {
        security::record(kind, None, format!("{} {name}", self.noun));
    }
}

/// Parses the name of an API key or a gate: 1 to 64 characters without control characters.
pub(crate) fn parse_name(name: &str) -> Result<&str> {
    let name = name.trim();
    if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        return Err(Error::invalid(
            "name",
            "must be 1 to 64 characters without control characters",
        ));
    }
    Ok(name)
}
