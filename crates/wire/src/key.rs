//! The shared key of both tiers.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The shortest key, in bytes.
const BYTES_MIN: usize = 32;

/// A secret of at least 32 bytes that both tiers have. It never crosses the network: each side sends a proof
/// that it has the key.
#[derive(derive_more::Debug, Clone)]
#[debug("SharedKey(…)")]
pub struct SharedKey(Vec<u8>);

/// The side that gives a proof; the other side cannot reuse it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Client,
    Server,
}

impl SharedKey {
    /// Creates a key; `None` if it is shorter than 32 bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() >= BYTES_MIN).then_some(Self(bytes))
    }

    /// Creates an empty key, which proves nothing: for mutual TLS without a key. A side that has a key refuses a
    /// proof by the empty key.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns the proof: HMAC-SHA-256 over the side and both challenges.
    pub(crate) fn proof(&self, side: Side, challenges: &Challenges) -> [u8; 32] {
        self.mac(side, challenges).finalize().into_bytes().into()
    }

    /// Verifies the other side's proof in constant time.
    pub(crate) fn accepts(&self, side: Side, challenges: &Challenges, proof: &[u8]) -> bool {
        self.mac(side, challenges).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, challenges: &Challenges) -> Hmac<Sha256> {
        // Never fails: HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { unreachable!() };
        mac.update(match side {
            Side::Client => b"lodge wire client",
            Side::Server => b"lodge wire server",
        });
        mac.update(&challenges.server);
        mac.update(&challenges.client);
        mac
    }
}

/// The random challenges of both sides, unique to a connection, so that a proof cannot be replayed on another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Challenges {
    pub(crate) server: [u8; 32],
    pub(crate) client: [u8; 32],
}

/// Draws a new challenge.
pub(crate) fn challenge() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_valid_for_one_side_of_one_connection() {
        let key = SharedKey::new([7; 32]).unwrap();
        let here = Challenges { server: challenge(), client: challenge() };
        let proof = key.proof(Side::Client, &here);
        assert!(key.accepts(Side::Client, &here, &proof));
        assert!(!key.accepts(Side::Server, &here, &proof));
        let elsewhere = Challenges { server: challenge(), ..here };
        assert!(!key.accepts(Side::Client, &elsewhere, &proof));
        assert!(!SharedKey::new([8; 32]).unwrap().accepts(Side::Client, &here, &proof));
        assert!(!key.accepts(Side::Client, &here, &proof[..31]));
    }

    #[test]
    fn a_short_key_is_refused() {
        assert!(SharedKey::new([1; 31]).is_none());
        assert!(SharedKey::new([]).is_none());
    }

    #[test]
    fn an_empty_key_is_refused_by_a_side_that_has_a_key() {
        let here = Challenges { server: challenge(), client: challenge() };
        let proof = SharedKey::none().proof(Side::Client, &here);
        assert!(!SharedKey::new([7; 32]).unwrap().accepts(Side::Client, &here, &proof));
        assert!(SharedKey::none().accepts(Side::Client, &here, &proof));
    }
}
