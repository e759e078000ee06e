//! Copies of sessions outside their store.

use async_trait::async_trait;

use super::SessionDigest;

/// Copies of sessions that several processes share. A copy may be lost, out of date or forged at any time, so its
/// reader checks it, and neither method fails.
#[async_trait]
pub trait SessionCopies: Send + Sync {
    /// Returns the copy of the session with this token digest, if there is one.
    async fn find(&self, digest: SessionDigest) -> Option<Vec<u8>>;

    /// Keeps a copy for a while.
    async fn keep(&self, digest: SessionDigest, copy: Vec<u8>);
}
