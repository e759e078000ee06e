//! Callers of the links API, and owners of links.

use serde::{Deserialize, Serialize};

use crate::{accounts::AccountId, keys::KeyId};

/// The party that a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Caller {
    /// A client without a credential.
    #[default]
    Anonymous,
    /// The holder of an API key, or a signed-in account.
    Owner(Owner),
    /// A client with what may be a link's manage key, unverified.
    ManageKey(String),
}

impl Caller {
    /// Returns the caller's part of the scope of an `Idempotency-Key`.
    pub fn scope(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::Owner(Owner::Key(id)) => format!("key:{}", id.0),
            Self::Owner(Owner::Account(id)) => format!("account:{}", id.0),
            Self::ManageKey(key) => format!("manage:{key}"),
        }
    }

    /// Returns the owner of links that this caller creates.
    pub fn owner(&self) -> Option<Owner> {
        match self {
            Self::Owner(owner) => Some(*owner),
            Self::Anonymous | Self::ManageKey(_) => None,
        }
    }
}

/// The owner of a link; the holder of its manage key can change it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The holder of an API key.
    Key(KeyId),
    /// An account.
    Account(AccountId),
}

impl Owner {
    /// Returns the number that stores keep: a key's number unchanged, an account's negated. Both begin at 1.
    pub fn to_number(self) -> i64 {
        match self {
            Self::Key(KeyId(id)) => id,
            Self::Account(AccountId(id)) => -id,
        }
    }

    /// Returns the owner with this stored number.
    pub fn of_number(number: i64) -> Self {
        if number < 0 {
            Self::Account(AccountId(number.saturating_neg()))
        } else {
            Self::Key(KeyId(number))
        }
    }
}
