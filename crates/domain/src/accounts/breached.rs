//! Passwords that were stolen and published.

use crate::passwords::Password;

/// A list of stolen passwords.
pub trait BreachedPasswords: Send + Sync {
    /// Whether the list has the password. A compact list may be wrong about a few passwords that it does not have,
    /// never about one that it has.
    fn contains(&self, password: &Password) -> bool;
}
