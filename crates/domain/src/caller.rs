//! Callers of the links API, and owners of links.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{accounts::AccountId, idempotency, keys::KeyId};

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
    /// Returns the caller's part of the scope of an `Idempotency-Key`: a repeated request gets a stored outcome, which
    /// may contain a secret, only if it comes from the same caller. A manage key is no proof of that, because it may be
    /// invented or replaced since. So a client without an account or an API key is known by the unguessable `key`, or
    /// else by its `network`: an address as rate limits count it; `None` is this machine.
    pub fn scope(&self, key: &str, network: Option<IpAddr>) -> String {
        let network = match network {
            _ if idempotency::is_unguessable(key) => String::new(),
            Some(network) => format!(" at {network}"),
            None => " on this machine".to_owned(),
        };
        match self {
            Self::Anonymous => format!("anonymous{network}"),
            Self::Owner(Owner::Key(id)) => format!("key:{}", id.0),
            Self::Owner(Owner::Account(id)) => format!("account:{}", id.0),
            Self::ManageKey(key) => format!("manage:{key}{network}"),
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

/// The owner of a link, which then has no manage key.
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

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

    #[test]
    fn a_caller_without_a_credential_is_its_network_or_an_unguessable_key() {
        let networks = [None, Some([192, 0, 2, 1].into()), Some([192, 0, 2, 2].into())];
        let scopes =
            |caller: &Caller, key: &str| networks.map(|network| caller.scope(key, network));
        for caller in [Caller::Anonymous, Caller::ManageKey("manage_x".to_owned())] {
            let [local, one, two] = scopes(&caller, "1");
            assert!(local != one && local != two && one != two, "{local} {one} {two}");
            let [local, one, two] = scopes(&caller, UUID);
            assert!(local == one && one == two, "{local} {one} {two}");
        }
        let [local, one, two] = scopes(&Caller::Owner(Owner::Account(AccountId(1))), "1");
        assert!(local == one && one == two, "{local} {one} {two}");
    }
}
