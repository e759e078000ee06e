//! Idempotent writes. An [`IdempotencyKey`] is passed to the store with a write; the store keeps the write's outcome in
//! the same transaction, and a repeated request returns that outcome instead of writing again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Result, text::is_key};

/// How long an outcome is kept for repeated requests, in seconds.
pub const OUTCOME_KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The `Idempotency-Key` of one request, bound to its caller and route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// SHA-256 of caller, method, route and key.
    pub id: [u8; 32],
    /// SHA-256 of the key and the request body; the same key with another fingerprint is refused. It is a fast hash
    /// and is stored: callers must leave passwords out of the body, or replace them by an HMAC.
    pub fingerprint: [u8; 32],
    /// The time at which the request arrived.
    pub at: Timestamp,
}

impl IdempotencyKey {
    /// Binds `key` (1 to 128 printable ASCII characters) to its `scope` (caller, method, route) and to the request
    /// `body`.
    pub fn new(scope: &[&str], key: &str, body: &[u8], at: Timestamp) -> Result<Self> {
        if !is_key(key) {
            return Err(Error::invalid(
                "Idempotency-Key",
                "must be 1 to 128 printable ASCII characters",
            ));
        }
        let mut id = Sha256::new();
        for part in scope.iter().chain([&key]) {
            id.update((part.len() as u64).to_be_bytes());
            id.update(part.as_bytes());
        }
        let fingerprint = Sha256::new().chain_update(key).chain_update([0]).chain_update(body);
        Ok(Self { id: id.finalize().into(), fingerprint: fingerprint.finalize().into(), at })
    }
}

/// The outcome of a write, and whether an earlier request produced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idempotent<T> {
    /// The outcome; for a repeated request, that of the first one.
    pub outcome: T,
    /// Whether an earlier request with the same key did the write, so that this one wrote nothing.
    pub replayed: bool,
}

impl<T> Idempotent<T> {
    /// Wraps an outcome of this request.
    pub fn fresh(outcome: T) -> Self {
        Self { outcome, replayed: false }
    }

    /// Applies `change` to the outcome.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Idempotent<U> {
        Idempotent { outcome: change(self.outcome), replayed: self.replayed }
    }
}
