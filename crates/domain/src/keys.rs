//! API keys: who may create links in their own name, and list them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Clock, Error, Random, Result, secret};

/// What an API key's token starts with.
pub const TOKEN_PREFIX: &str = "lodge_";

/// An API key's number; what links name as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId(pub i64);

/// An API key, without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Its number.
    pub id: KeyId,
    /// What its maker called it, 1 to 64 characters, unique.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked; it opens nothing from then on.
    pub revoked_at: Option<Timestamp>,
}

/// Keeps API keys; their tokens only as digests.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Adds a key; [`Error::Conflict`] if the name is taken.
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey>;
    /// The key behind a token's digest, revoked ones too.
    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>>;
    /// The key of that number, revoked ones too.
    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>>;
    /// Every key, oldest first.
    async fn list(&self) -> Result<Vec<ApiKey>>;
    /// Revokes by name; `None` if there is no such key. Repeating it changes nothing.
    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>>;
}

/// Makes, finds and revokes API keys.
#[derive(Clone)]
pub struct Keys {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    prefix: &'static str,
}

impl Keys {
    /// Keys kept in `store`.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { store, clock, random, prefix: TOKEN_PREFIX }
    }

    /// The same, with tokens that start with something else.
    #[must_use]
    pub fn with_prefix(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    /// Makes a key and returns its token, the only time that it can be had.
    pub async fn create(&self, name: &str) -> Result<(ApiKey, String)> {
        let name = parse_name(name)?;
        let token = secret::random_token(self.prefix, &*self.random);
        let key = self.store.add(name, secret::token_digest(&token), self.clock.now()).await?;
        Ok((key, token))
    }

    /// The live key behind a token.
    pub async fn authenticate(&self, token: &str) -> Result<ApiKey> {
        let found = self.store.find(secret::token_digest(token)).await?;
        found
            .filter(|key| key.revoked_at.is_none())
            .ok_or(Error::unauthenticated("this API key is not known, or was revoked"))
    }

    /// The live key of that number.
    pub async fn live(&self, id: KeyId) -> Result<Option<ApiKey>> {
        Ok(self.store.get(id).await?.filter(|key| key.revoked_at.is_none()))
    }

    /// Every key, oldest first.
    pub async fn list(&self) -> Result<Vec<ApiKey>> {
        self.store.list().await
    }

    /// Ends a key; its links stay.
    pub async fn revoke(&self, name: &str) -> Result<ApiKey> {
        self.store
            .revoke(name, self.clock.now())
            .await?
            .ok_or(Error::not_found("there is no API key of that name"))
    }
}

/// What somebody who carries a key is called: 1 to 64 characters.
pub(crate) fn parse_name(name: &str) -> Result<&str> {
    let name = name.trim();
    if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        return Err(Error::invalid(
            "name",
            "must be 1 to 64 characters, none of them a control character",
        ));
    }
    Ok(name)
}
