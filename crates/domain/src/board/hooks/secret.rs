//! The secret by which a receiver verifies a delivery.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Random;

/// The prefix of a secret's text.
const PREFIX: &str = "whsec_";

/// A hook's signing secret, as specified by Standard Webhooks (<https://www.standardwebhooks.com>): 256 random bits.
#[derive(derive_more::Debug, Clone, PartialEq, Eq)]
#[debug("HookSecret(…)")]
pub struct HookSecret([u8; 32]);

impl HookSecret {
    /// Draws a new secret.
    pub fn draw(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// A secret from a store.
    pub fn stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The raw bytes, for a store.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text form for the receiver: `whsec_` and base64.
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// Computes the header `webhook-signature` of a delivery.
    pub fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        // HMAC takes a key of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { unreachable!() };
        mac.update(format!("{id}.{timestamp_s}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with openssl: `printf 'lobby/7:42.1767225600.{}' | openssl dgst -sha256 -hmac …`.
    #[test]
    fn a_signature_follows_the_specification() {
        let secret = HookSecret::stored(*b"0123456789abcdef0123456789abcdef");
        assert_eq!(secret.to_text(), "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
        assert_eq!(
            secret.sign("lobby/7:42", 1_767_225_600, b"{}"),
            "v1,O/NVB28o9KES+OfkqC3lVdufLgCWJWPQ69YKB/sGIYE="
        );
        assert_eq!(format!("{secret:?}"), "HookSecret(…)");
    }
}
