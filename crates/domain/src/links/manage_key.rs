//! Who asks, and what they may do.

use subtle::ConstantTimeEq;

use super::link::{Link, Owner};
use crate::secret::{self, InstallationSecret};

/// What a manage key starts with.
pub const MANAGE_PREFIX: &str = "manage_";

/// Who asks for something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Caller {
    /// Somebody of whom we know nothing.
    #[default]
    Anonymous,
    /// The holder of an API key, or somebody who is signed in.
    Owner(Owner),
    /// Somebody who carries what may be a link's manage key.
    ManageKey(String),
}

impl Caller {
    /// The caller as one of the parts that an Idempotency-Key is bound to.
    pub fn scope(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::Owner(Owner::Key(id)) => format!("key:{}", id.0),
            Self::Owner(Owner::Account(id)) => format!("account:{}", id.0),
            Self::ManageKey(key) => format!("manage:{key}"),
        }
    }

    /// Whose a new link of this caller's is.
    pub fn owner(&self) -> Option<Owner> {
        match self {
            Self::Owner(owner) => Some(*owner),
            Self::Anonymous | Self::ManageKey(_) => None,
        }
    }
}

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
