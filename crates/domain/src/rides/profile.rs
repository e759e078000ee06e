//! Profiles on leaderboards: the nickname and picture of an account that allows them there.

use async_trait::async_trait;
use jiff::Timestamp;

use super::Passes;
use crate::{
    Result,
    accounts::{Account, AccountId, AccountsClient, OwnedByAccount},
    pictures::PictureId,
};

/// What leaderboards show of an account that allows it: a copy of its public part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderProfile {
    /// The account.
    pub account: AccountId,
    /// The username, by which the current state is looked up.
    pub username: String,
    /// The display name.
    pub nickname: String,
    /// The picture.
    pub picture: Option<PictureId>,
    /// The time when the account allowed it.
    pub since: Timestamp,
}

impl LeaderProfile {
    /// The profile of an account that allows it since `since`.
    pub fn of(account: &Account, since: Timestamp) -> Self {
        Self {
            account: account.id,
            username: account.username.as_str().to_owned(),
            nickname: account.nickname.as_str().to_owned(),
            picture: account.picture,
            since,
        }
    }
}

/// The account that has a skier's pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassHolder {
    /// The account.
    pub account: AccountId,
    /// Its profile, if it allows that on leaderboards and the pass is not hidden.
    pub profile: Option<LeaderProfile>,
}

/// Applies changes and deletions of accounts to their passes and profiles.
pub struct HolderSync {
    passes: Passes,
    accounts: AccountsClient,
}

impl HolderSync {
    /// Syncs the holders of `passes` with `accounts`.
    pub fn new(passes: Passes, accounts: AccountsClient) -> Self {
        Self { passes, accounts }
    }
}

#[async_trait]
impl OwnedByAccount for HolderSync {
    async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        self.passes.store.holders(after, limit).await
    }

    async fn account_deleted(&self, former: AccountId) -> Result<()> {
        self.passes.store.release_all(former).await
    }

    async fn account_changed(&self, changed: AccountId) -> Result<()> {
        let Some(shown) = self.passes.profile(changed).await? else { return Ok(()) };
        match self.accounts.known(changed, &shown.username).await? {
            Some(account) => self.passes.current_profile(&account).await.map(drop),
            None => Ok(()),
        }
    }
}
