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

/// Hashes passwords on a bounded pool of its own. A full pool refuses at once
/// ([`Error::Unavailable`]): hashing must not slow anything else.
#[async_trait::async_trait]
pub trait Passwords: Send + Sync {
    /// Hashes with a new salt.
    async fn hash(&self, password: Password) -> Result<PasswordHash>;
    /// Whether `password` is the one behind `hash`.
    async fn verify(&self, password: Password, hash: PasswordHash) -> Result<bool>;
}
