//! Doing a thing once, however often it is asked for. An [`Attempt`] goes with a write to the store,
//! which keeps the write's outcome beside the write, in the same transaction: a repetition finds the
//! outcome instead of writing again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Result, text::is_key};

/// How long an outcome is kept for repetitions, in seconds.
pub const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The `Idempotency-Key` of one request, bound to who sent it and where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// A digest of caller, method, route and key.
    pub id: [u8; 32],
    /// A digest of the key and of what was asked for. The same key with another one is refused. It is fast,
    /// and kept: whoever makes it leaves passwords out, or signs what was asked for beforehand.
    pub fingerprint: [u8; 32],
    /// When the request came in.
    pub at: Timestamp,
}

impl Attempt {
    /// Binds `key` (1 to 128 printable ASCII characters) to its `scope` (caller, method, route) and
    /// to what the request says.
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

/// What a write came to, and whether it came to that earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done<T> {
    /// The outcome; of the first attempt, if this is a repetition.
    pub outcome: T,
    /// True when nothing was written because an earlier attempt had done it.
    pub replayed: bool,
}

impl<T> Done<T> {
    /// An outcome of this very attempt.
    pub fn now(outcome: T) -> Self {
        Self { outcome, replayed: false }
    }

    /// The same with another outcome.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Done<U> {
        Done { outcome: change(self.outcome), replayed: self.replayed }
    }
}
