//! The installation secret, random tokens and their digests.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Random;

/// The secret of one installation, from which manage keys and codes of passes are derived. It is kept in the data
/// folder, is part of a backup, and is never printed.
#[derive(derive_more::Debug, Clone)]
#[debug("InstallationSecret(…)")]
pub struct InstallationSecret([u8; 32]);

impl InstallationSecret {
    /// Creates the secret from its stored bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for a store to keep.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the HMAC-SHA-256 over `purpose` and `parts`, each prefixed with its length, so that different
    /// arguments never produce the same input.
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

/// Creates a 256-bit random token; its prefix says what kind it is.
pub fn random_token(prefix: &str, random: &dyn Random) -> String {
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    encode_token(prefix, &bytes)
}

/// Encodes `prefix` and 32 bytes: the bytes as 43 characters of unpadded URL-safe base64.
pub fn encode_token(prefix: &str, bytes: &[u8; 32]) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the SHA-256 of a token, the form in which it is stored: enough for 256 random bits.
pub fn token_digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// A secret text, such as a one-time code or a password hash; `Debug` does not print it.
#[derive(
    derive_more::Debug, derive_more::From, Clone, Default, PartialEq, Eq, Serialize, Deserialize,
)]
#[debug("Hidden(…)")]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}
