//! Passwords: what may be one, and the port to whoever hashes them.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A password as typed: 1 to 128 characters. It is never printed.
#[derive(Clone)]
pub struct Password(String);

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
    /// Takes an argon2id hash from elsewhere, if to verify it costs no more than 64 MiB, 8 passes and 4
    /// lanes: whoever wrote it decides what every visitor costs.
    pub fn parse(field: &'static str, text: &str) -> Result<Self> {
        let refuse = || {
            Error::invalid(field, "must be an argon2id hash in PHC form of at most m=65536,t=8,p=4")
        };
        let parts: Vec<&str> = text.split('$').collect();
        let ["", "argon2id", "v=19", cost, salt, hash] = parts[..] else { return Err(refuse()) };
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
        let base64 = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b))
        };
        if !cost.split(',').all(|pair| within(pair).is_some()) || !base64(salt) || !base64(hash) {
            return Err(refuse());
        }
        Ok(Self(text.to_owned()))
    }
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
        assert!(PasswordHash::parse("password_hash", "$2b$10$abc").is_err());
    }
}
