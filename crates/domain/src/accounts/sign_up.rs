//! Sign-up with a password.

use serde::{Deserialize, Serialize};

use super::{Account, Accounts, Email, NewAccount, NewPassword, Nickname, Outcome, Username};
use crate::{Attempt, Done, Result};

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
    /// Creates an account; `None` if the name is taken, an outcome that is stored for repeated requests as well.
    pub async fn sign_up(
        &self,
        wish: SignUp,
        attempt: Option<Attempt>,
    ) -> Result<Done<Option<Account>>> {
        if let Some(earlier) = self.earlier(attempt.as_ref()).await? {
            return Ok(earlier);
        }
        self.is_open()?;
        // Checked before hashing, which is costly; usernames are public, so nothing is revealed.
        if self.ports.store.find(&wish.username).await?.is_some() {
            // Perhaps a concurrent copy of this request created it.
            let earlier = self.earlier(attempt.as_ref()).await?;
            return Ok(earlier.unwrap_or(Done::now(None)));
        }
        let SignUp { username, password, nickname, email } = wish;
        let password = self.ports.passwords.hash(password.into_password()).await?;
        let account = NewAccount::new(username, Some(password), self.ports.clock.now());
        let nickname = nickname.unwrap_or_else(|| account.nickname.clone());
        let account = NewAccount { nickname, email, ..account };
        self.ports.store.add(account, attempt).await
    }

    async fn earlier(&self, attempt: Option<&Attempt>) -> Result<Option<Done<Option<Account>>>> {
        let Some(attempt) = attempt else { return Ok(None) };
        let outcome = match self.ports.store.recall(attempt).await? {
            None => return Ok(None),
            Some(Outcome::Taken) => None,
            Some(Outcome::SignedUp(id)) => {
                let (account, _) = self.ports.store.get(id).await?.ok_or(Outcome::DELETED)?;
                Some(account)
            }
        };
        Ok(Some(Done { outcome, replayed: true }))
    }
}
