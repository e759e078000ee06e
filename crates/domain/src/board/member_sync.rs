//! Keeps the board's copies of accounts up to date.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Board, PersonId, Profile};
use crate::{
    Result,
    accounts::{AccountId, AccountsClient, OwnedByAccount},
};

/// Applies changes and deletions of accounts to the members of the board.
pub struct MemberSync {
    board: Arc<Board>,
    accounts: AccountsClient,
}

impl MemberSync {
    /// Syncs the members of `board` with `accounts`.
    pub fn new(board: Arc<Board>, accounts: AccountsClient) -> Self {
        Self { board, accounts }
    }
}

#[async_trait]
impl OwnedByAccount for MemberSync {
    async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        self.board.stores.people.accounts(after, limit).await
    }

    async fn account_deleted(&self, former: AccountId) -> Result<()> {
        self.board.forget(former).await
    }

    async fn account_changed(&self, changed: AccountId) -> Result<()> {
        let Some(known) = self.board.stores.people.find(PersonId::Account(changed)).await? else {
            return Ok(());
        };
        match self.accounts.known(changed, &known.profile.username).await? {
            Some(account) if Profile::of(&account) != known.profile => {
                self.board.save_profile(Profile::of(&account)).await
            }
            Some(_) | None => Ok(()),
        }
    }
}
