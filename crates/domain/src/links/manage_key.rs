//! Manage keys: the holder of the manage key of a link without an owner may change the link.

use subtle::ConstantTimeEq;

use super::link::Link;
use crate::{
    caller::Caller,
    secret::{self, InstallationSecret},
};

/// The prefix of every manage key.
pub const MANAGE_PREFIX: &str = "manage_";

/// Derives manage keys: an HMAC over the link's id and key version, so that nothing is stored and a repeated
/// request returns the same key.
#[derive(Debug, Clone)]
pub struct ManageKeys(InstallationSecret);

impl ManageKeys {
    /// Creates keys derived from `secret`.
    pub fn new(secret: InstallationSecret) -> Self {
        Self(secret)
    }

    /// Returns the manage key of `link`; `None` if it has an owner, whose sessions and API keys can be ended, and a
    /// second key to the link would outlive them.
    pub fn key(&self, link: &Link) -> Option<String> {
        if link.owner.is_some() {
            return None;
        }
        let mac =
            self.0.sign("manage key", &[link.id.0.as_bytes(), &link.key_version.to_be_bytes()]);
        Some(secret::encode_token(MANAGE_PREFIX, &mac))
    }

    /// Whether `caller` may read and change `link`.
    pub fn allows(&self, caller: &Caller, link: &Link) -> bool {
        match caller {
            Caller::Anonymous => false,
            Caller::Owner(owner) => link.owner == Some(*owner),
            Caller::ManageKey(key) => {
                self.key(link).is_some_and(|right| right.as_bytes().ct_eq(key.as_bytes()).into())
            }
        }
    }
}
