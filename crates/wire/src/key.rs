//! The key that both tiers have.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The fewest bytes of a key.
const BYTES_MIN: usize = 32;

/// A secret of at least 32 bytes that both tiers have. It never crosses the network: each side proves
/// that it has it.
#[derive(derive_more::Debug, Clone)]
#[debug("SharedKey(…)")]
pub struct SharedKey(Vec<u8>);

/// Which side proves something, so that one side's proof is of no use to the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Client,
    Server,
}

impl SharedKey {
    /// Takes a key; `None` if it is shorter than 32 bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() >= BYTES_MIN).then_some(Self(bytes))
    }

    /// For connections on which both sides show certificates that the other trusts, and need no key: an empty
    /// one, which proves nothing. Whoever has a key refuses it.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// HMAC-SHA-256 over the side and both challenges.
    pub(crate) fn proof(&self, side: Side, challenges: &Challenges) -> [u8; 32] {
        self.mac(side, challenges).finalize().into_bytes().into()
    }

    /// Whether the other side has the key, in constant time.
    pub(crate) fn accepts(&self, side: Side, challenges: &Challenges, proof: &[u8]) -> bool {
        self.mac(side, challenges).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, challenges: &Challenges) -> Hmac<Sha256> {
        // HMAC takes a key of any length.
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

/// What each side drew for this connection alone, so that no proof is of use on another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Challenges {
    pub(crate) server: [u8; 32],
    pub(crate) client: [u8; 32],
}

/// A new challenge.
pub(crate) fn challenge() -> [u8; 32] {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_use_to_one_side_of_one_connection() {
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
    fn a_short_key_is_none() {
        assert!(SharedKey::new([1; 31]).is_none());
        assert!(SharedKey::new([]).is_none());
    }

    #[test]
    fn no_key_opens_nothing_that_has_one() {
        let here = Challenges { server: challenge(), client: challenge() };
        let proof = SharedKey::none().proof(Side::Client, &here);
        assert!(!SharedKey::new([7; 32]).unwrap().accepts(Side::Client, &here, &proof));
        assert!(SharedKey::none().accepts(Side::Client, &here, &proof));
    }
}
