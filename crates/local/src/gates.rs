//! A cache of gates, for at most one second.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    rides::{Gate, GateId, GateStore, ResortId},
};

use super::token_cache::TokenCache;

/// A store of gates with a small cache in front. Unknown gates are not cached.
pub struct CachedGates {
    store: Arc<dyn GateStore>,
    opened: TokenCache<GateId, (Digest, Gate)>,
}

/// The digest of a token: a renewed gate has a new one, and the old one is no longer valid.
type Digest = [u8; 32];

impl CachedGates {
    /// Creates a cache in front of `store`.
    pub fn new(store: Arc<dyn GateStore>) -> Self {
        Self { store, opened: TokenCache::new() }
    }
}

#[async_trait]
impl GateStore for CachedGates {
    async fn add(
        &self,
        name: &str,
        resort: Option<ResortId>,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Result<Gate> {
        self.store.add(name, resort, digest, at).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<Gate>> {
        if let Some((current, gate)) = self.opened.by_digest(digest)
            && current == digest
        {
            return Ok(Some(gate));
        }
        let began = self.opened.begin();
        let found = self.store.find(digest).await?;
        if let Some(gate) = &found {
            self.opened.insert_by_digest(digest, gate.id, &(digest, gate.clone()), began);
        }
        Ok(found)
    }

    async fn list(&self) -> Result<Vec<Gate>> {
        self.store.list().await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<Gate>> {
        let _revoking = self.opened.revoking();
        self.store.revoke(name, at).await
    }

    async fn renew(&self, name: &str, digest: [u8; 32]) -> Result<Option<Gate>> {
        let _revoking = self.opened.revoking();
        self.store.renew(name, digest).await
    }
}
