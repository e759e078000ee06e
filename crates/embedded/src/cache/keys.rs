//! API keys in memory, for a second at most.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    keys::{ApiKey, KeyId, KeyStore},
};
use moka::{ops::compute::Op, sync::Cache};

/// How long a revocation by another process may go unnoticed.
const KEPT: Duration = Duration::from_secs(1);

/// Keys in memory.
const KEYS_MAX: u64 = 10_000;

/// A store of API keys with a small cache in front. A key that is not known is not remembered.
pub struct CachedKeys {
    store: Arc<dyn KeyStore>,
    /// A digest belongs to one key for ever.
    ids: Cache<[u8; 32], KeyId>,
    keys: Cache<KeyId, ApiKey>,
    /// Revocations that have ended; what was read before one does not get in after it.
    revocations: AtomicU64,
}

impl CachedKeys {
    /// Keys of `store`.
    pub fn new(store: Arc<dyn KeyStore>) -> Self {
        let ids = Cache::builder().max_capacity(KEYS_MAX).build();
        let keys = Cache::builder().max_capacity(KEYS_MAX).time_to_live(KEPT).build();
        Self { store, ids, keys, revocations: AtomicU64::new(0) }
    }

    fn keep(&self, key: &ApiKey, revocations: u64) {
        self.keys.entry(key.id).and_compute_with(|_| {
            let current = self.revocations.load(Ordering::SeqCst) == revocations;
            if current { Op::Put(key.clone()) } else { Op::Nop }
        });
    }
}

#[async_trait]
impl KeyStore for CachedKeys {
    async fn add(&self, name: &str, digest: [u8; 32], at: Timestamp) -> Result<ApiKey> {
        self.store.add(name, digest, at).await
    }

    async fn find(&self, digest: [u8; 32]) -> Result<Option<ApiKey>> {
        if let Some(key) = self.ids.get(&digest).and_then(|id| self.keys.get(&id)) {
            return Ok(Some(key));
        }
        let revocations = self.revocations.load(Ordering::SeqCst);
        let found = self.store.find(digest).await?;
        if let Some(key) = &found {
            self.ids.insert(digest, key.id);
            self.keep(key, revocations);
        }
        Ok(found)
    }

    async fn get(&self, id: KeyId) -> Result<Option<ApiKey>> {
        if let Some(key) = self.keys.get(&id) {
            return Ok(Some(key));
        }
        let revocations = self.revocations.load(Ordering::SeqCst);
        let found = self.store.get(id).await?;
        if let Some(key) = &found {
            self.keep(key, revocations);
        }
        Ok(found)
    }

    async fn list(&self) -> Result<Vec<ApiKey>> {
        self.store.list().await
    }

    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<ApiKey>> {
        let revoked = self.store.revoke(name, at).await;
        self.revocations.fetch_add(1, Ordering::SeqCst);
        match &revoked {
            Ok(Some(key)) => drop(self.keys.entry(key.id).and_compute_with(|_| Op::Remove)),
            Ok(None) => {}
            // It may have come to pass.
            Err(_) => self.keys.invalidate_all(),
        }
        revoked
    }
}
