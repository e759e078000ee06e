//! Sign-in with a password.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Account, AccountChange, AccountEventKind, Accounts, FreshSession, Username, device};
use crate::{
    Error, Result,
    failures::Counted,
    password_hasher::PasswordOf,
    passwords::{Password, PasswordHash},
    secret::SecretText,
    security::{self, SecurityEventKind},
};

/// A request to sign in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignIn {
    /// The username as typed.
    pub username: String,
    /// The password as typed.
    pub password: Password,
    /// The client's address, for rate limits; without one only the limit per name applies.
    pub from: Option<IpAddr>,
    /// The `User-Agent`.
    pub agent: String,
    /// What [`FreshSession::device`] was at an earlier sign-in on this device, if any. Wrong passwords of others do not
    /// lock a device that proves to be known to the account: they are counted apart.
    #[serde(default)]
    pub device: Option<SecretText>,
}

const WRONG: Error = Error::unauthenticated("wrong username or password");
pub(super) const BANNED: Error = Error::forbidden("this account is banned");

impl Accounts {
    /// Signs in with a username and a password. Without the right password, neither the response nor its time
    /// reveals whether the account exists, has a password or is banned.
    pub async fn sign_in(&self, request: SignIn) -> Result<FreshSession> {
        let SignIn { username: typed, password, from, agent, device } = request;
        let (name, now) = (Username::parse(&typed).ok(), self.ports.clock.now());
        let found = match &name {
            Some(name) => self.ports.store.find(name).await?,
            None => None,
        };
        let (account, credential) = found.unzip();
        let id = account.as_ref().map(|account| account.id);
        let is_known = |device: &SecretText, account| {
            device::is_known(&self.ports.secret, account, device, now)
        };
        let device =
            device.filter(|device| account.as_ref().is_some_and(|it| is_known(device, it)));
        // All spellings of one name share a counter.
        let key = name.as_ref().map_or(typed.as_str(), Username::as_str);
        let key = match &device {
            Some(device) => format!("{key} on {}", device.reveal()),
            None => key.to_owned(),
        };
        let counted = Counted::one(&*self.ports.failures, &key, from, now).await;
        if matches!(counted, Err(Error::TooMany { .. })) {
            security::record(SecurityEventKind::LockedOut, id, "");
        }
        let counted = counted?;
        let hash = credential.and_then(|credential| credential.password);
        let is_to_renew = hash.as_ref().is_some_and(|hash| hash.needs_rehash(&password));
        let of = PasswordOf::Client(from);
        let is_right = self.verified(of, password.clone(), hash).await;
        counted.settle(&is_right).await;
        let Some(account) = account.filter(|_| matches!(is_right, Ok(true))) else {
            if is_right.is_ok() {
                security::record(SecurityEventKind::SignInFailed, id, "");
            }
            return Err(is_right.err().unwrap_or(WRONG));
        };
        if account.banned_at.is_some() {
            security::record(SecurityEventKind::SignInFailed, id, "banned");
            return Err(BANNED);
        }
        if is_to_renew {
            // A failed rehash does not fail the sign-in: the next sign-in tries again.
            drop(self.renew(&account, of, password).await);
        }
        // `None` means that the password was changed meanwhile, so this one is now wrong.
        self.begin(account, AccountEventKind::SignedIn, &agent, Some(now)).await?.ok_or(WRONG)
    }

    /// Replaces the hash by one with the current algorithm and parameters.
    async fn renew(&self, account: &Account, of: PasswordOf, password: Password) -> Result<()> {
        let change = AccountChange {
            password: Some(self.ports.passwords.hash(of, password).await?),
            at_epoch: Some(account.epoch),
            ..AccountChange::default()
        };
        let event = self.by_owner(account.id, AccountEventKind::PasswordRenewed);
        self.ports.store.change(change, event).await.map(drop)
    }

    /// Whether the password matches the hash; without a hash the same work is done.
    pub(super) async fn verified(
        &self,
        of: PasswordOf,
        password: Password,
        hash: Option<PasswordHash>,
    ) -> Result<bool> {
        let is_there = hash.is_some();
        let hash = hash.unwrap_or_else(PasswordHash::dummy);
        Ok(self.ports.passwords.verify(of, password, hash).await? && is_there)
    }
}
