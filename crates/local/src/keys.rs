//! A cache of API keys, for at most one second.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    keys::{ApiKey, KeyId, KeyStore},
};

use super::token_cache::TokenCache;

/// A store of API keys with a small cache in front. Unknown keys are not cached.
pub struct CachedKeys {
    store: Arc<dyn KeyStore>,
    opened: TokenCache<KeyId, ApiKey>,
}

impl CachedKeys {
    /// Creates a cache in front of `store`.
    pub fn new(store: Arc<dyn KeyStore>) -> Self {
        Self { store, opened: TokenCache::new() }
    }
}

#[async_trait]
impl KeyStore for CachedKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        self.store.add(name, digest, at).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        if let Some(key) = self.opened.by_digest(digest) {
            return Ok(Some(key));
        }
        let began = self.opened.begin();
        let found = self.store.find(digest).await?;
        if let Some(key) = &found {
            self.opened.insert_by_digest(digest, key.id, key, began);
        }
        Ok(found)
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        if let Some(key) = self.opened.by_id(id) {
            return Ok(Some(key));
        }
        let began = self.opened.begin();
        let found = self.store.get(id).await?;
        if let Some(key) = &found {
            self.opened.insert(key.id, key, began);
        }
        Ok(found)
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        self.store.list().await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let _revoking = self.opened.revoking();
        self.store.revoke(name, at).await
    }
}
