//! Passwords: what may be one, and the port to whoever hashes them.

use std::ops::RangeInclusive;

use base64::{
    Engine as _, alphabet,
    engine::{
        GeneralPurpose,
        general_purpose::{NO_PAD, STANDARD_NO_PAD},
    },
};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What a new hash costs: 19 MiB, two passes, one lane (OWASP's first choice of argon2id).
pub const MEMORY_KIB: u32 = 19 * 1024;
/// See [`MEMORY_KIB`].
pub const PASSES: u32 = 2;
/// See [`MEMORY_KIB`].
pub const LANES: u32 = 1;

/// The most memory of a hash from elsewhere, in KiB.
pub const ELSEWHERE_MEMORY_KIB_MAX: u32 = 65_536;
/// The most lanes of one; they are filled one after the other.
pub const ELSEWHERE_LANES_MAX: u32 = 4;
/// How many times what a new hash costs, memory times passes, one from elsewhere may cost.
pub const ELSEWHERE_TIMES_MAX: u64 = 8;

/// How much of a password bcrypt looks at.
const BCRYPT_BYTES: usize = 72;

/// A password as typed: 1 to 128 characters. It is never printed.
#[derive(derive_more::Debug, derive_more::Into, Clone, Serialize, Deserialize)]
#[debug("Password(…)")]
#[serde(try_from = "String", into = "String")]
pub struct Password(String);

impl TryFrom<String> for Password {
    type Error = Error;
    fn try_from(typed: String) -> Result<Self> {
        Self::parse("password", typed)
    }
}

impl Password {
    /// Takes any 1 to 128 characters.
    pub fn parse(field: &'static str, typed: String) -> Result<Self> {
        match typed.chars().count() {
            1..=128 => Ok(Self(typed)),
            _ => Err(Error::invalid(field, "must be 1 to 128 characters")),
        }
    }

    /// The bytes to hash.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A password's hash as a PHC string, salt and parameters included.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[debug("PasswordHash(…)")]
pub struct PasswordHash(pub String);

impl PasswordHash {
    /// Takes a hash from elsewhere, by argon2id or bcrypt, if it can be verified, and that costs no more than
    /// [`ELSEWHERE_MEMORY_KIB_MAX`], [`ELSEWHERE_LANES_MAX`] and [`ELSEWHERE_TIMES_MAX`] times what a new one
    /// does, or 2¹² rounds of bcrypt, which are some twenty times as much: whoever wrote it decides what every
    /// visitor costs, and its time tells it from others until its owner signs in.
    pub fn parse(field: &'static str, text: &str) -> Result<Self> {
        if is_argon2(text) || is_bcrypt(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::invalid(
            field,
            "must be a hash by argon2id in PHC form ($argon2id$v=19$m=…,t=…,p=…$salt$hash) with m of at most 65536, \
             p of at most 4 and m × t of at most 311296, or by bcrypt of at most cost 12",
        ))
    }

    /// Whether a new hash of the same password would be another kind of hash.
    pub fn is_outdated(&self) -> bool {
        !self.0.starts_with(&format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$"))
    }

    /// Whether a new hash of `password`, which fits this one, is to take its place. What bcrypt did not look
    /// at may be mistyped, and would have to be mistyped from then on.
    pub fn is_to_renew(&self, password: &Password) -> bool {
        let is_seen_whole = !is_bcrypt(&self.0) || password.as_bytes().len() < BCRYPT_BYTES;
        self.is_outdated() && is_seen_whole
    }

    /// A hash that no password has, and that costs as much to verify as a new one: for whoever has none.
    pub fn of_nothing() -> Self {
        let (salt, hash) = ("A".repeat(22), "A".repeat(43));
        Self(format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${hash}"))
    }
}

fn is_argon2(text: &str) -> bool {
    let parts: Vec<&str> = text.split('$').collect();
    let ["", "argon2id", "v=19", cost, salt, hash] = parts[..] else { return false };
    let cost: Vec<&str> = cost.split(',').collect();
    let [memory, passes, lanes] = cost[..] else { return false };
    let (Some(memory_kib), Some(passes), Some(lanes)) =
        (number("m=", memory), number("t=", passes), number("p=", lanes))
    else {
        return false;
    };
    let most = ELSEWHERE_TIMES_MAX * u64::from(MEMORY_KIB) * u64::from(PASSES);
    (1..=ELSEWHERE_LANES_MAX).contains(&lanes)
        // Two blocks for each of the four slices of a lane, or it is none.
        && (8 * lanes..=ELSEWHERE_MEMORY_KIB_MAX).contains(&memory_kib)
        && passes >= 1
        && u64::from(memory_kib) * u64::from(passes) <= most
        && has_bytes(&STANDARD_NO_PAD, salt, 8..=48)
        && has_bytes(&STANDARD_NO_PAD, hash, 10..=64)
}

/// A number as it is written in a hash: after its name, without a sign, and without zeros before it.
fn number(name: &str, text: &str) -> Option<u32> {
    let text = text.strip_prefix(name)?;
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// Whether it is the text of so many bytes, and no other text of them.
fn has_bytes(base64: &GeneralPurpose, text: &str, bytes: RangeInclusive<usize>) -> bool {
    base64.decode(text).is_ok_and(|decoded| bytes.contains(&decoded.len()))
}

/// `$2b$10$`, 22 characters of salt and 31 of hash.
fn is_bcrypt(text: &str) -> bool {
    const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::BCRYPT, NO_PAD);
    let parts: Vec<&str> = text.split('$').collect();
    let ["", "2a" | "2b" | "2y", cost, rest] = parts[..] else { return false };
    let Some((salt, hash)) = rest.split_at_checked(22) else { return false };
    cost.len() == 2
        && cost.parse().is_ok_and(|cost: u8| (4..=12).contains(&cost))
        && has_bytes(&BASE64, salt, 16..=16)
        && has_bytes(&BASE64, hash, 23..=23)
}

/// Hashes passwords on a bounded pool of its own. A full pool refuses at once
/// ([`Error::Unavailable`]): hashing must not slow anything else.
#[async_trait::async_trait]
pub trait Passwords: Send + Sync {
    /// Hashes with a new salt.
    async fn hash(&self, password: Password) -> Result<PasswordHash>;
    /// Whether `password` is the one behind `hash`.
    async fn verify(&self, password: Password, hash: PasswordHash) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argon2(cost: &str) -> Result<PasswordHash> {
        of(&format!("$argon2id$v=19${cost}$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo"))
    }

    fn of(text: &str) -> Result<PasswordHash> {
        PasswordHash::parse("password_hash", text)
    }

    #[test]
    fn a_hash_that_would_cost_too_much_is_refused() {
        for cost in ["m=19456,t=2,p=1", "m=65536,t=4,p=1", "m=8,t=1,p=1", "m=32,t=1,p=4"] {
            assert!(argon2(cost).is_ok(), "{cost}");
        }
        for cost in [
            "m=4194304,t=2,p=1",
            "m=65536,t=5,p=1",
            "m=19456,t=900,p=1",
            "m=65536,t=1,p=5",
            "m=65536,t=4294967295,p=1",
        ] {
            assert!(argon2(cost).is_err(), "{cost}");
        }
        assert!(bcrypt(12).is_ok_and(|hash| hash.is_outdated()));
        assert!(bcrypt(13).is_err() && bcrypt(3).is_err());
        assert!(!PasswordHash::of_nothing().is_outdated());
    }

    fn bcrypt(cost: u8) -> Result<PasswordHash> {
        of(&format!("$2b${cost:02}$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"))
    }

    #[test]
    fn a_hash_that_cannot_be_verified_is_refused() {
        for cost in [
            "m=7,t=1,p=1",
            "m=31,t=1,p=4",
            "m=19456,t=0,p=1",
            "m=19456,t=2,p=0",
            "m=19456,t=2,p=1,x=1",
            "m=19456,m=19456,p=1",
            "t=2,m=19456,p=1",
            "m=19456,t=2",
            "m=019456,t=2,p=1",
            "m=+19456,t=2,p=1",
            "m=,t=2,p=1",
            "",
        ] {
            assert!(argon2(cost).is_err(), "{cost}");
        }
        for text in [
            // A salt that is too short, a hash that is, and text of no bytes.
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaGhhc2hoYXNo",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHR$aGFzaGhhc2hoYXNo",
            "$argon2i$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo",
            "$2b$10$abc",
            "$2b$10$N9qo8uLOickgx2ZMRZoMyfIjZAgcfl7p92ldGxad68LJZdL17lhWy",
            "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhW/",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
