//! Deletion of accounts in the other apps: data owned by a deleted account is deleted with it.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::{ACCOUNTS_PER_CALL_MAX, AccountId, AccountsClient, FeedPosition};
use crate::Result;

/// The interval of full scans of all owners, independent of the feed: a session that was cached slightly longer
/// than its account existed may have created data in between.
const ALL_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The data that another app stores for accounts.
#[async_trait]
pub trait OwnedByAccount: Send + Sync {
    /// Returns accounts that own data, ordered by number, after `after`, at most `limit`.
    async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;

    /// Deletes or releases the data of a deleted account. Idempotent.
    async fn account_deleted(&self, former: AccountId) -> Result<()>;

    /// Handles a change of an existing account. Idempotent; a change that is missed is not reported later.
    async fn account_changed(&self, _changed: AccountId) -> Result<()> {
        Ok(())
    }
}

/// Finds deleted accounts in the change feed, and by a scan of all owners where the feed may have gaps.
pub struct AccountDeletion {
    accounts: AccountsClient,
    place: Option<FeedPosition>,
    all_at: Option<Timestamp>,
}

impl AccountDeletion {
    /// Creates a reader of these accounts' feed, with no position yet.
    pub fn new(accounts: AccountsClient) -> Self {
        Self { accounts, place: None, all_at: None }
    }

    /// Deletes the data of accounts that were deleted since the last run. A failed deletion is retried in the next
    /// run.
    pub async fn run(&mut self, owned: &dyn OwnedByAccount, now: Timestamp) -> Result<()> {
        loop {
            let changed = self.accounts.changed_since(self.place).await?;
            let is_due = self.all_at.is_none_or(|at| now.duration_since(at) >= ALL_EVERY);
            if is_due || changed.begins_anew || self.place.is_none() {
                self.look_at_all(owned).await?;
                self.all_at = Some(now);
            }
            let accounts: BTreeSet<_> = changed.accounts.into_iter().collect();
            let accounts: Vec<_> = accounts.into_iter().collect();
            for existing in self.look_at(owned, &accounts).await? {
                owned.account_changed(existing).await?;
            }
            self.place = Some(changed.place);
            if !changed.more {
                return Ok(());
            }
        }
    }

    async fn look_at_all(&self, owned: &dyn OwnedByAccount) -> Result<()> {
        let mut last = None;
        loop {
            let owners = owned.owners(last, ACCOUNTS_PER_CALL_MAX).await?;
            if owners.is_empty() {
                return Ok(());
            }
            self.look_at(owned, &owners).await?;
            last = owners.last().copied();
        }
    }

    /// Deletes the data of those of `accounts` that are deleted; returns the existing ones.
    async fn look_at(
        &self,
        owned: &dyn OwnedByAccount,
        accounts: &[AccountId],
    ) -> Result<Vec<AccountId>> {
        let mut there = Vec::new();
        for asked in accounts.chunks(ACCOUNTS_PER_CALL_MAX) {
            let existing: HashSet<_> =
                self.accounts.existing(asked.to_vec()).await?.into_iter().collect();
            for former in asked.iter().filter(|account| !existing.contains(account)) {
                owned.account_deleted(*former).await?;
            }
            there.extend(existing);
        }
        Ok(there)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use parking_lot::Mutex;
    use uuid::Uuid;

    use super::*;
    use crate::{
        Error,
        accounts::{Backend, Call, FeedPage, Reply},
    };

    /// An accounts tier whose feed reports only changes after its first read.
    #[derive(Default)]
    struct Tier {
        feed: Mutex<Uuid>,
        existing: Mutex<BTreeSet<AccountId>>,
        told: Mutex<Vec<AccountId>>,
        is_away: Mutex<bool>,
    }

    #[async_trait]
    impl Backend for Tier {
        async fn call(&self, call: Call) -> Result<Reply> {
            if *self.is_away.lock() {
                return Err(Error::unavailable("away"));
            }
            Ok(match call {
                Call::ChangedSince(asked) => {
                    let (feed, told) = (*self.feed.lock(), self.told.lock());
                    let known = asked.filter(|place| place.feed == feed);
                    let from = known.map_or(told.len(), |place| usize::try_from(place.at).unwrap());
                    // One change per call.
                    let to = told.len().min(from + 1);
                    Reply::Changed(FeedPage {
                        accounts: told[from..to].to_vec(),
                        place: FeedPosition { feed, at: i64::try_from(to).unwrap() },
                        more: to < told.len(),
                        begins_anew: asked.is_some() && known.is_none(),
                    })
                }
                Call::Existing(asked) => {
                    let existing = self.existing.lock();
                    Reply::Existing(asked.into_iter().filter(|id| existing.contains(id)).collect())
                }
                call => panic!("{call:?}"),
            })
        }
    }

    impl Tier {
        /// Sets the existing accounts.
        fn has(&self, accounts: &[i64]) {
            *self.existing.lock() = accounts.iter().copied().map(AccountId).collect();
        }
    }

    /// The number of items of each owner, and the changed accounts that were reported.
    #[derive(Default)]
    struct Things(Mutex<BTreeMap<AccountId, u32>>, Mutex<BTreeSet<AccountId>>);

    #[async_trait]
    impl OwnedByAccount for Things {
        async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
            let all = self.0.lock().keys().copied().collect::<Vec<_>>();
            Ok(all.into_iter().filter(|id| Some(*id) > after).take(limit).collect())
        }

        async fn account_deleted(&self, former: AccountId) -> Result<()> {
            self.0.lock().remove(&former);
            Ok(())
        }

        async fn account_changed(&self, changed: AccountId) -> Result<()> {
            self.1.lock().insert(changed);
            Ok(())
        }
    }

    impl Things {
        fn give(&self, accounts: impl IntoIterator<Item = i64>) {
            self.0.lock().extend(accounts.into_iter().map(|account| (AccountId(account), 1)));
        }

        fn owners(&self) -> Vec<i64> {
            self.0.lock().keys().map(|owner| owner.0).collect()
        }
    }

    fn scene() -> (Arc<Tier>, Things, AccountDeletion) {
        let tier = Arc::new(Tier::default());
        let deletion =
            AccountDeletion::new(AccountsClient::new(Arc::clone(&tier) as Arc<dyn Backend>));
        (tier, Things::default(), deletion)
    }

    const BEGIN: Timestamp = Timestamp::UNIX_EPOCH;

    #[tokio::test]
    async fn data_of_a_deleted_account_is_deleted_with_it() {
        let (tier, things, mut deletion) = scene();
        tier.has(&[1, 2, 3]);
        things.give([1, 2, 3]);
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [1, 2, 3]);
        tier.has(&[3]);
        tier.told.lock().extend([3, 1, 2, 1].map(AccountId));
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [3]);
    }

    #[tokio::test]
    async fn a_change_of_an_existing_account_is_reported() {
        let (tier, things, mut deletion) = scene();
        tier.has(&[1, 2, 3]);
        things.give([1, 2, 3]);
        deletion.run(&things, BEGIN).await.unwrap();
        tier.has(&[1, 2]);
        tier.told.lock().extend([1, 3].map(AccountId));
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(*things.1.lock(), BTreeSet::from([AccountId(1)]));
        assert_eq!(things.owners(), [1, 2]);
    }

    #[tokio::test]
    async fn a_deletion_that_the_feed_missed_is_found_by_a_full_scan() {
        let (tier, things, mut deletion) = scene();
        // More than one request holds, before the first run.
        things.give(1..=1_200);
        tier.has(&[7, 1_100]);
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7, 1_100]);
        // The feed is another one.
        *tier.feed.lock() = Uuid::max();
        tier.has(&[7]);
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7]);
        // Created by an account that was already deleted.
        things.give([8]);
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7, 8]);
        deletion.run(&things, BEGIN + ALL_EVERY).await.unwrap();
        assert_eq!(things.owners(), [7]);
    }

    #[tokio::test]
    async fn a_failed_deletion_is_retried_in_the_next_run() {
        let (tier, things, mut deletion) = scene();
        things.give([1, 2]);
        tier.has(&[1, 2]);
        deletion.run(&things, BEGIN).await.unwrap();
        tier.has(&[2]);
        tier.told.lock().push(AccountId(1));
        *tier.is_away.lock() = true;
        assert!(deletion.run(&things, BEGIN).await.is_err());
        assert_eq!(things.owners(), [1, 2]);
        *tier.is_away.lock() = false;
        deletion.run(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [2]);
    }
}
