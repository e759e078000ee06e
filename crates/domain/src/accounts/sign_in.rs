//! Proving who one is by a password.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    Account, AccountChange, Accounts, EventKind, FreshSession, Username, failures::Counted,
};
use crate::{
    Error, Result,
    passwords::{Password, PasswordHash},
};

/// Somebody who wants to be let in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignIn {
    /// The name, as typed.
    pub username: String,
    /// The password, as typed.
    pub password: Password,
    /// Where they are, as far as limits are concerned.
    pub from: Option<IpAddr>,
    /// What their device says that it is.
    pub agent: String,
}

const WRONG: Error = Error::unauthenticated("the name or the password is wrong");
pub(super) const BANNED: Error = Error::forbidden("this account is banned");

impl Accounts {
    /// Lets somebody in. Whether there is an account of that name, whether it has a password, and whether
    /// it is banned shows neither in the answer nor in its time to anybody who does not know the password.
    pub async fn sign_in(&self, wish: SignIn) -> Result<FreshSession> {
        let SignIn { username: typed, password, from, agent } = wish;
        let name = Username::parse(&typed).ok();
        // However it is typed, it counts for one name.
        let counted = name.as_ref().map_or(typed.as_str(), Username::as_str);
        let counted =
            Counted::one(&*self.ports.failures, counted, from, self.ports.clock.now()).await?;
        let found = match &name {
            Some(name) => self.ports.store.find(name).await?,
            None => None,
        };
        let (account, credential) = found.unzip();
        let hash = credential.and_then(|credential| credential.password);
        let is_to_renew = hash.as_ref().is_some_and(|hash| hash.is_to_renew(&password));
        let is_right = self.verified(password.clone(), hash).await;
        counted.settle(&is_right).await;
        let Some(account) = account.filter(|_| matches!(is_right, Ok(true))) else {
            return Err(is_right.err().unwrap_or(WRONG));
        };
        if account.banned_at.is_some() {
            return Err(BANNED);
        }
        if is_to_renew {
            // Whoever was right is not kept out for want of a better hash: the next sign-in makes it.
            drop(self.renew(&account, password).await);
        }
        // If its password was changed meanwhile, this one is wrong by now.
        self.begin(account, EventKind::SignedIn, &agent).await?.ok_or(WRONG)
    }

    /// Hashes a password as new ones are, now that it is known.
    async fn renew(&self, account: &Account, password: Password) -> Result<()> {
        let change = AccountChange {
            password: Some(self.ports.passwords.hash(password).await?),
            at_epoch: Some(account.epoch),
            ..AccountChange::default()
        };
        let event = self.by_owner(account.id, EventKind::PasswordRenewed);
        self.ports.store.change(change, event).await.map(drop)
    }

    /// Whether the password is the one behind the hash. Where there is none, the same work is done.
    pub(super) async fn verified(
        &self,
        password: Password,
        hash: Option<PasswordHash>,
    ) -> Result<bool> {
        let is_there = hash.is_some();
        let hash = hash.unwrap_or_else(PasswordHash::of_nothing);
        Ok(self.ports.passwords.verify(password, hash).await? && is_there)
    }
}
