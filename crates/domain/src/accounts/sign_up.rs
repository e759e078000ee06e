//! Sign-up with a password.

use serde::{Deserialize, Serialize};

use super::{
    Account, AccountEventKind, Accounts, Email, NewAccount, NewPassword, Nickname, SignUpOutcome,
    Username,
};
use crate::{Error, IdempotencyKey, Idempotent, Result, password_hasher::PasswordOf};

/// A request to create an account.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignUp {
    /// The username.
    pub username: Username,
    /// The password.
    pub password: NewPassword,
    /// The display name; defaults to the username.
    pub nickname: Option<Nickname>,
    /// The e-mail address; unverified.
    pub email: Option<Email>,
}

impl Accounts {
    /// Creates an account; `None` if the name or a look-alike is taken, an outcome that is stored for repeated requests
    /// as well. The web tier leaves the password out of the idempotency key's fingerprint, because web processes that
    /// share accounts need not share a secret; it is added here.
    pub async fn sign_up(
        &self,
        request: SignUp,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Option<Account>>> {
        let idempotency =
            idempotency.map(|key| key.with_secret(&self.ports.secret, request.password.as_bytes()));
        if let Some(earlier) = self.stored_sign_up(idempotency.as_ref()).await? {
            return Ok(earlier);
        }
        self.is_open()?;
        request.username.check_for_visitor()?;
        // Checked before hashing, which is costly; usernames are public, so nothing is revealed.
        if self.ports.store.find(&request.username).await?.is_some() {
            // Perhaps a concurrent copy of this request created it.
            let earlier = self.stored_sign_up(idempotency.as_ref()).await?;
            return Ok(earlier.unwrap_or(Idempotent::fresh(None)));
        }
        self.add(request, idempotency).await
    }

    /// Hashes the password and stores the account; `None` if the name is taken.
    pub(super) async fn add(
        &self,
        request: SignUp,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Option<Account>>> {
        let SignUp { username, password, nickname, email } = request;
        let password = self.hash_new(PasswordOf::Client(None), "password", password).await?;
        let account = NewAccount::new(username, Some(password), self.ports.clock.now());
        let nickname = nickname.unwrap_or_else(|| account.nickname.clone());
        let account = NewAccount { nickname, email, ..account };
        let added = self.ports.store.add(account, idempotency).await?;
        if let (Some(account), false) = (&added.outcome, added.replayed) {
            let made = self.by_owner(account.id, AccountEventKind::SignedUp);
            made.record("");
        }
        Ok(added)
    }

    async fn stored_sign_up(
        &self,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Option<Idempotent<Option<Account>>>> {
        let Some(idempotency) = idempotency else { return Ok(None) };
        let outcome = match self.ports.store.stored_outcome(idempotency).await? {
            None => return Ok(None),
            Some(SignUpOutcome::Taken) => None,
            Some(SignUpOutcome::SignedUp(id)) => {
                let (account, _) = self.ports.store.get(id).await?.ok_or(SignUpOutcome::DELETED)?;
                Some(account)
            }
        };
        Ok(Some(Idempotent { outcome, replayed: true }))
    }
}

/// The refusal of a username that an account has, or a look-alike of it.
pub const TAKEN: Error =
    Error::conflict("this username is taken or looks like one that is taken; choose another one");
