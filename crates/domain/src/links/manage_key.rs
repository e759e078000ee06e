//! Manage keys: who has one may change its link.

use subtle::ConstantTimeEq;

use super::link::Link;
use crate::{
    caller::Caller,
    secret::{self, InstallationSecret},
};

/// What a manage key starts with.
pub const MANAGE_PREFIX: &str = "manage_";

/// Derives manage keys: an HMAC over the link's id and key version, so that nothing is stored and a
/// repeated request gets the same one.
#[derive(Debug, Clone)]
pub struct ManageKeys(InstallationSecret);

impl ManageKeys {
    /// Keys under `secret`.
    pub fn new(secret: InstallationSecret) -> Self {
        Self(secret)
    }

    /// The key to `link`, as its maker is told.
    pub fn key(&self, link: &Link) -> String {
        let mac =
            self.0.sign("manage key", &[link.id.0.as_bytes(), &link.key_version.to_be_bytes()]);
        secret::encode_token(MANAGE_PREFIX, &mac)
    }

    /// Whether `caller` may see and change `link`.
    pub fn allows(&self, caller: &Caller, link: &Link) -> bool {
        match caller {
            Caller::Anonymous => false,
            Caller::Owner(owner) => link.owner == Some(*owner),
            Caller::ManageKey(key) => self.key(link).as_bytes().ct_eq(key.as_bytes()).into(),
        }
    }
}
