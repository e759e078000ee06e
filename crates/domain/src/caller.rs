//! Who asks, and in whose name.

use serde::{Deserialize, Serialize};

use crate::{accounts::AccountId, keys::KeyId};

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

/// Whose a link is, beside whoever holds its manage key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The holder of an API key.
    Key(KeyId),
    /// Somebody who has an account.
    Account(AccountId),
}

impl Owner {
    /// How stores keep it: a key's number as it is, an account's negated. Both begin at 1.
    pub fn to_number(self) -> i64 {
        match self {
            Self::Key(KeyId(id)) => id,
            Self::Account(AccountId(id)) => -id,
        }
    }

    /// The owner of that number.
    pub fn of_number(number: i64) -> Self {
        if number < 0 {
            Self::Account(AccountId(number.saturating_neg()))
        } else {
            Self::Key(KeyId(number))
        }
    }
}
