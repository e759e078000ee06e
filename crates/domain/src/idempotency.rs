//! Idempotent writes. An [`IdempotencyKey`] is passed to the store with a write; the store keeps the write's outcome in
//! the same transaction, and a repeated request returns that outcome instead of writing again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::{Uuid, Variant};

use crate::{Error, Result, secret::InstallationSecret, text::is_key};

/// How long an outcome is kept for repeated requests, in seconds.
pub const OUTCOME_KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The `Idempotency-Key` of one request, bound to its caller and route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// SHA-256 of caller, method, route and key.
    pub id: [u8; 32],
    /// SHA-256 of the key and the request body; the same key with another fingerprint is refused. It is a fast hash
    /// and is stored: callers must replace a body with a password by an HMAC, or add the password with
    /// [`Self::with_secret`].
    pub fingerprint: [u8; 32],
    /// The time at which the request arrived.
    pub at: Timestamp,
}

impl IdempotencyKey {
    /// Binds `key` (1 to 128 printable ASCII characters) to its `scope` (caller, method, route) and to the request
    /// `body`. The caller's part of the scope is [`crate::caller::Caller::scope`].
    pub fn new(scope: &[impl AsRef<[u8]>], key: &str, body: &[u8], at: Timestamp) -> Result<Self> {
        if !is_key(key) {
            return Err(Error::invalid(
                "Idempotency-Key",
                "must be 1 to 128 printable ASCII characters",
            ));
        }
        let mut id = Sha256::new();
        for part in scope.iter().map(AsRef::as_ref).chain([key.as_bytes()]) {
            id.update((part.len() as u64).to_be_bytes());
            id.update(part);
        }
        let fingerprint = Sha256::new().chain_update(key).chain_update([0]).chain_update(body);
        Ok(Self { id: id.finalize().into(), fingerprint: fingerprint.finalize().into(), at })
    }

    /// Adds a password to the fingerprint, as an HMAC with the installation's secret: without that secret, the stored
    /// value allows no guesses.
    #[must_use]
    pub fn with_secret(self, installation: &InstallationSecret, password: &[u8]) -> Self {
        let fingerprint = installation.sign("idempotency", &[&self.fingerprint, password]);
        Self { fingerprint, ..self }
    }
}

/// Whether only the client that made `key` can know it: a UUID of version 4 or 7 in its canonical form, which has 122
/// or 74 random bits.
pub fn is_unguessable(key: &str) -> bool {
    let canonical = Some(key).filter(|key| key.len() == uuid::fmt::Hyphenated::LENGTH);
    canonical.and_then(|key| Uuid::try_parse(key).ok()).is_some_and(|uuid| {
        uuid.get_variant() == Variant::RFC4122 && matches!(uuid.get_version_num(), 4 | 7)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_canonical_random_uuid_is_unguessable() {
        for key in ["0190163d-8694-739b-aea5-966c26f8ad91", "F47AC10B-58CC-4372-A567-0E02B2C3D479"]
        {
            assert!(is_unguessable(key), "{key}");
        }
        for key in [
            "1",
            "f47ac10b58cc4372a5670e02b2c3d479",
            "{f47ac10b-58cc-4372-a567-0e02b2c3d479}",
            "f47ac10b-58cc-1372-a567-0e02b2c3d479",
            "f47ac10b-58cc-5372-a567-0e02b2c3d479",
            "f47ac10b-58cc-4372-2567-0e02b2c3d479",
            "f47ac10b-58cc-4372-a567-0e02b2c3d47x",
        ] {
            assert!(!is_unguessable(key), "{key}");
        }
    }

    #[test]
    fn a_fingerprint_depends_on_the_password_and_on_the_installation() {
        let key = IdempotencyKey::new(&["test"], "k", b"body", Timestamp::UNIX_EPOCH).unwrap();
        let of = |secret: u8, password: &[u8]| {
            key.clone().with_secret(&InstallationSecret::new([secret; 32]), password)
        };
        assert_eq!(of(1, b"one"), of(1, b"one"));
        assert_eq!(of(1, b"one").id, of(1, b"two").id);
        assert_ne!(of(1, b"one").fingerprint, of(1, b"two").fingerprint);
        assert_ne!(of(1, b"one").fingerprint, of(2, b"one").fingerprint);
    }
}
