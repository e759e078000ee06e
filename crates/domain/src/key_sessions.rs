//! Page sessions of API keys. A browser that signs in with a key gets a token of its own: the key is in no cookie, and
//! a session can end before the key does.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{
    Clock, Random, Result,
    keys::{ApiKey, KeyId, Keys},
    secret,
    security::{self, SecurityActor, SecurityEventKind},
};

/// The lifetime of a session.
pub const KEY_SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// The prefix of every token.
const TOKEN_PREFIX: &str = "key_session_";

/// A session to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySession {
    /// The digest of the token.
    pub digest: [u8; 32],
    /// The key that was given.
    pub key: KeyId,
    /// The time of the sign-in.
    pub began_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}

/// A store of sessions, with only the digests of their tokens. It is never cached, so the end of a session takes effect
/// at once in every process.
#[async_trait]
pub trait KeySessionStore: Send + Sync {
    /// Stores a session. May remove sessions that have expired when it begins.
    async fn begin(&self, session: KeySession) -> Result<()>;
    /// Returns the key of a session, unless it has ended or expired at `now`.
    async fn find(&self, digest: [u8; 32], now: Timestamp) -> Result<Option<KeyId>>;
    /// Ends a session. Idempotent.
    async fn end(&self, digest: [u8; 32]) -> Result<()>;
}

/// The service that begins, finds and ends sessions.
#[derive(Clone)]
pub struct KeySessions {
    store: Arc<dyn KeySessionStore>,
    keys: Keys,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl KeySessions {
    /// Creates the service over `store`, for the keys of `keys`.
    pub fn new(
        store: Arc<dyn KeySessionStore>,
        keys: Keys,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { store, keys, clock, random }
    }

    /// Begins a session of an authenticated key. Returns its token, which cannot be retrieved later.
    pub async fn begin(&self, key: KeyId) -> Result<String> {
        let token = secret::random_token(TOKEN_PREFIX, &*self.random);
        let began_at = self.clock.now();
        let expires_at = began_at.saturating_add(KEY_SESSION_LIFETIME).unwrap_or(Timestamp::MAX);
        let digest = secret::token_digest(&token);
        self.store.begin(KeySession { digest, key, began_at, expires_at }).await?;
        security::record_by(SecurityActor::Key(key.0), SecurityEventKind::SignIn, None, "");
        Ok(token)
    }

    /// Returns the key of a session; `None` if the session has ended or the key is revoked.
    pub async fn find(&self, token: &str) -> Result<Option<ApiKey>> {
        let Some(digest) = digest_of(token) else { return Ok(None) };
        match self.store.find(digest, self.clock.now()).await? {
            Some(key) => self.keys.live(key).await,
            None => Ok(None),
        }
    }

    /// Ends the session of a token; any other text is ignored.
    pub async fn end(&self, token: &str) -> Result<()> {
        match digest_of(token) {
            Some(digest) => self.store.end(digest).await,
            None => Ok(()),
        }
    }
}

/// Returns the digest of a text with the prefix of these tokens, else `None`.
fn digest_of(token: &str) -> Option<[u8; 32]> {
    token.starts_with(TOKEN_PREFIX).then(|| secret::token_digest(token))
}
