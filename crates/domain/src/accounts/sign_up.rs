//! Making an account.

use serde::{Deserialize, Serialize};

use super::{Account, Accounts, Email, NewAccount, NewPassword, Nickname, Outcome, Username};
use crate::{Attempt, Done, Result};

/// An account that somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignUp {
    /// Its name.
    pub username: Username,
    /// Its password.
    pub password: NewPassword,
    /// What others are to see; the name, if there is none.
    pub nickname: Option<Nickname>,
    /// Where its owner may be written to.
    pub email: Option<Email>,
}

impl Accounts {
    /// Makes an account; `None` if the name is taken. That is an outcome, too, and a repetition is told
    /// it.
    pub async fn sign_up(
        &self,
        wish: SignUp,
        attempt: Option<Attempt>,
    ) -> Result<Done<Option<Account>>> {
        if let Some(earlier) = self.earlier(attempt.as_ref()).await? {
            return Ok(earlier);
        }
        self.is_open()?;
        // A hash costs much, and names are no secret.
        if self.ports.store.find(&wish.username).await?.is_some() {
            // By a twin of this request, perhaps.
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
