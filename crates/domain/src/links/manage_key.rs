//! Manage keys: the holder of a link's manage key may change the link.

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

    /// Returns the manage key of `link`.
    pub fn key(&self, link: &Link) -> String {
        let mac =
            self.0.sign("manage key", &[link.id.0.as_bytes(), &link.key_version.to_be_bytes()]);
        secret::encode_token(MANAGE_PREFIX, &mac)
    }

    /// Whether `caller` may read and change `link`.
    pub fn allows(&self, caller: &Caller, link: &Link) -> bool {
        match caller {
            Caller::Anonymous => false,
            Caller::Owner(owner) => link.owner == Some(*owner),
            Caller::ManageKey(key) => self.key(link).as_bytes().ct_eq(key.as_bytes()).into(),
        }
    }
}
