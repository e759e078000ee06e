//! Password rules and password hashes.

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

/// The cost of a new hash: 19 MiB, two passes, one lane (OWASP's first choice of argon2id).
pub const MEMORY_KIB: u32 = 19 * 1024;
/// See [`MEMORY_KIB`].
pub const PASSES: u32 = 2;
/// See [`MEMORY_KIB`].
pub const LANES: u32 = 1;

/// The maximum memory of an imported hash, in KiB.
pub const IMPORTED_MEMORY_KIB_MAX: u32 = 65_536;
/// The maximum lanes of an imported hash; they are filled one after the other.
pub const IMPORTED_LANES_MAX: u32 = 4;
/// The maximum cost of an imported hash, memory times passes, as a multiple of a new hash's.
pub const IMPORTED_COST_TIMES_MAX: u64 = 8;

/// The bytes of a password that bcrypt reads.
const BCRYPT_BYTES: usize = 72;

/// A password as typed, 1 to 128 characters. `Debug` does not print it.
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
    /// Accepts any 1 to 128 characters.
    pub fn parse(field: &'static str, typed: String) -> Result<Self> {
        match typed.chars().count() {
            0 => Err(Error::invalid(field, "is empty")),
            1..=128 => Ok(Self(typed)),
            _ => Err(Error::invalid(field, "must be at most 128 characters")),
        }
    }

    /// Returns the bytes to hash.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A password hash as a PHC string, with salt and parameters.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[debug("PasswordHash(…)")]
pub struct PasswordHash(pub String);

impl PasswordHash {
    /// Accepts an imported argon2id or bcrypt hash that can be verified within [`IMPORTED_MEMORY_KIB_MAX`],
    /// [`IMPORTED_LANES_MAX`] and [`IMPORTED_COST_TIMES_MAX`], or 2¹² rounds of bcrypt, which cost some twenty times a
    /// new hash. The import decides what each verification costs, and its time reveals an imported hash until its
    /// owner signs in.
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

    /// Whether the hash has another algorithm or other parameters than a new one.
    pub fn is_outdated(&self) -> bool {
        !self.0.starts_with(&format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$"))
    }

    /// Whether to replace this hash by a new one of `password`, which matches it. Bytes beyond bcrypt's limit may
    /// be mistyped, and a new hash would require them from then on.
    pub fn needs_rehash(&self, password: &Password) -> bool {
        let is_seen_whole = !is_bcrypt(&self.0) || password.as_bytes().len() < BCRYPT_BYTES;
        self.is_outdated() && is_seen_whole
    }

    /// Returns a hash that matches no password and costs as much to verify as a new one.
    pub fn dummy() -> Self {
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
    let most = IMPORTED_COST_TIMES_MAX * u64::from(MEMORY_KIB) * u64::from(PASSES);
    (1..=IMPORTED_LANES_MAX).contains(&lanes)
        // argon2 needs two blocks for each of the four slices of a lane.
        && (8 * lanes..=IMPORTED_MEMORY_KIB_MAX).contains(&memory_kib)
        && passes >= 1
        && u64::from(memory_kib) * u64::from(passes) <= most
        && has_bytes(&STANDARD_NO_PAD, salt, 8..=48)
        && has_bytes(&STANDARD_NO_PAD, hash, 10..=64)
}

/// Parses a number in a hash: `name` and digits, without a plus sign or leading zeros.
fn number(name: &str, text: &str) -> Option<u32> {
    let text = text.strip_prefix(name)?;
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// Whether the text decodes to a number of bytes in the range, in canonical base64.
fn has_bytes(base64: &GeneralPurpose, text: &str, bytes: RangeInclusive<usize>) -> bool {
    base64.decode(text).is_ok_and(|decoded| bytes.contains(&decoded.len()))
}

/// Whether the text is a bcrypt hash: `$2b$10$`, 22 characters of salt and 31 of hash.
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
        assert!(!PasswordHash::dummy().is_outdated());
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
            // A salt that is too short, a hash that is too short, and base64 that is not canonical.
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
