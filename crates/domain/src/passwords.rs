//! Passwords: what may be one, and the port to whoever hashes them.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What a new hash costs: 19 MiB, two passes, one lane (OWASP's first choice of argon2id).
pub const MEMORY_KIB: u32 = 19 * 1024;
/// See [`MEMORY_KIB`].
pub const PASSES: u32 = 2;
/// See [`MEMORY_KIB`].
pub const LANES: u32 = 1;

/// A password as typed: 1 to 128 characters. It is never printed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Password(String);

impl TryFrom<String> for Password {
    type Error = Error;
    fn try_from(typed: String) -> Result<Self> {
        Self::parse("password", typed)
    }
}

impl From<Password> for String {
    fn from(password: Password) -> Self {
        password.0
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

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// A password's hash as a PHC string, salt and parameters included.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash(pub String);

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

impl PasswordHash {
    /// Takes a hash from elsewhere, by argon2id or bcrypt, if to verify it costs no more than 64 MiB, 8
    /// passes and 4 lanes, or 2¹² rounds: whoever wrote it decides what every visitor costs.
    pub fn parse(field: &'static str, text: &str) -> Result<Self> {
        if is_argon2(text) || is_bcrypt(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::invalid(
            field,
            "must be a hash by argon2id in PHC form of at most m=65536,t=8,p=4, or by bcrypt of at most cost 12",
        ))
    }

    /// Whether a new hash of the same password would be another kind of hash.
    pub fn is_outdated(&self) -> bool {
        !self.0.starts_with(&format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$"))
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
    let within = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let most = match name {
            "m" => 65_536,
            "t" => 8,
            "p" => 4,
            _ => return None,
        };
        value.parse().ok().filter(|value| (1..=most).contains(value))
    };
    let is_base64 = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b))
    };
    cost.split(',').all(|pair| within(pair).is_some()) && is_base64(salt) && is_base64(hash)
}

/// `$2b$10$`, 22 characters of salt and 31 of hash.
fn is_bcrypt(text: &str) -> bool {
    let parts: Vec<&str> = text.split('$').collect();
    let ["", "2a" | "2b" | "2y", cost, rest] = parts[..] else { return false };
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"./".contains(&b);
    cost.len() == 2
        && cost.parse().is_ok_and(|cost: u8| (4..=12).contains(&cost))
        && rest.len() == 53
        && rest.bytes().all(is_base64)
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

    #[test]
    fn a_hash_that_would_cost_too_much_is_refused() {
        let hash = |cost: &str| {
            PasswordHash::parse(
                "password_hash",
                &format!("$argon2id$v=19${cost}$c2FsdHNhbHQ$aGFzaA"),
            )
        };
        assert!(hash("m=19456,t=2,p=1").is_ok());
        for cost in
            ["m=4194304,t=2,p=1", "m=19456,t=900,p=1", "m=19456,t=2,p=1,x=1", "m=,t=2,p=1", ""]
        {
            assert!(hash(cost).is_err(), "{cost}");
        }
        let bcrypt = |cost: u8| {
            let rest = "N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";
            PasswordHash::parse("password_hash", &format!("$2b${cost:02}${rest}"))
        };
        assert!(bcrypt(12).is_ok_and(|hash| hash.is_outdated()));
        assert!(bcrypt(13).is_err() && bcrypt(3).is_err());
        assert!(PasswordHash::parse("password_hash", "$2b$10$abc").is_err());
        assert!(!PasswordHash::of_nothing().is_outdated());
    }
}
