//! Secrets: the installation's own, and the keys that callers carry.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Random;

/// The secret of one installation, from which its manage keys and page sessions derive. It is kept
/// in the data folder, is part of a backup, and is never printed.
#[derive(derive_more::Debug, Clone)]
#[debug("InstallationSecret(…)")]
pub struct InstallationSecret([u8; 32]);

impl InstallationSecret {
    /// Takes the bytes that the store keeps.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for a store that is to keep them.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// HMAC-SHA-256 over `purpose` and `parts`, each with its length, so that no two calls with
    /// other arguments share their input.
    pub fn sign(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        // HMAC takes a key of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { unreachable!() };
        for part in [purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// A 256-bit random token with a prefix that says what it opens, as the caller carries it.
pub fn random_token(prefix: &str, random: &dyn Random) -> String {
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    encode_token(prefix, &bytes)
}

/// `prefix` and 32 bytes as text: 43 characters of unpadded URL-safe base64.
pub fn encode_token(prefix: &str, bytes: &[u8; 32]) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// The form in which a token is kept: SHA-256, enough for 256 random bits.
pub fn token_digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Text that opens something, or tells how to: no log prints it.
#[derive(
    derive_more::Debug, derive_more::From, Clone, Default, PartialEq, Eq, Serialize, Deserialize,
)]
#[debug("Hidden(…)")]
#[serde(transparent)]
pub struct Hidden(String);

impl Hidden {
    /// The text, for whom it is meant.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}
