//! Accounts that are changed or deleted, for the other apps: what belongs to an account goes with it.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::{ACCOUNTS_ASKED, AccountId, AccountsClient, FeedPlace};
use crate::Result;

/// How often all owners are looked at, whatever the feed says: somebody whose session was remembered a
/// moment longer than their account was there may have taken something meanwhile.
const ALL_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// What another app keeps that belongs to accounts.
#[async_trait]
pub trait Belongings: Send + Sync {
    /// Accounts to which something belongs, by number, those after `after`, at most `limit`.
    async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;

    /// Lets go of what belongs to an account that is deleted; the same again changes nothing.
    async fn let_go(&self, former: AccountId) -> Result<()>;

    /// Takes note of an account to which something has happened, and which is there; the same again changes
    /// nothing. What was not heard of is not told later.
    async fn note(&self, _changed: AccountId) -> Result<()> {
        Ok(())
    }
}

/// Hears which accounts are deleted, wherever accounts are kept: from the feed, and by looking at all owners
/// where the feed may have told somebody else.
pub struct Leavers {
    accounts: AccountsClient,
    place: Option<FeedPlace>,
    all_at: Option<Timestamp>,
}

impl Leavers {
    /// Those of these accounts; nothing is heard yet.
    pub fn new(accounts: AccountsClient) -> Self {
        Self { accounts, place: None, all_at: None }
    }

    /// Lets go of what belongs to accounts that were deleted since the last time. What failed is done the
    /// next time.
    pub async fn see_off(&mut self, belongings: &dyn Belongings, now: Timestamp) -> Result<()> {
        loop {
            let changed = self.accounts.changed_since(self.place).await?;
            let is_due = self.all_at.is_none_or(|at| now.duration_since(at) >= ALL_EVERY);
            if is_due || changed.begins_anew || self.place.is_none() {
                self.look_at_all(belongings).await?;
                self.all_at = Some(now);
            }
            let accounts: BTreeSet<_> = changed.accounts.into_iter().collect();
            let accounts: Vec<_> = accounts.into_iter().collect();
            for existing in self.look_at(belongings, &accounts).await? {
                belongings.note(existing).await?;
            }
            self.place = Some(changed.place);
            if !changed.more {
                return Ok(());
            }
        }
    }

    async fn look_at_all(&self, belongings: &dyn Belongings) -> Result<()> {
        let mut last = None;
        loop {
            let owners = belongings.owners(last, ACCOUNTS_ASKED).await?;
            if owners.is_empty() {
                return Ok(());
            }
            self.look_at(belongings, &owners).await?;
            last = owners.last().copied();
        }
    }

    /// Lets go of what belongs to those of these that are deleted; the others.
    async fn look_at(
        &self,
        belongings: &dyn Belongings,
        accounts: &[AccountId],
    ) -> Result<Vec<AccountId>> {
        let mut there = Vec::new();
        for asked in accounts.chunks(ACCOUNTS_ASKED) {
            let existing: HashSet<_> =
                self.accounts.existing(asked.to_vec()).await?.into_iter().collect();
            for former in asked.iter().filter(|account| !existing.contains(account)) {
                belongings.let_go(*former).await?;
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
        accounts::{Backend, Call, Changed, Reply},
    };

    /// Accounts that are there, and a feed that tells of the others when it is asked for the second time.
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
                    // One at a time.
                    let to = told.len().min(from + 1);
                    Reply::Changed(Changed {
                        accounts: told[from..to].to_vec(),
                        place: FeedPlace { feed, at: i64::try_from(to).unwrap() },
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
        /// All of these, and nobody else.
        fn has(&self, accounts: &[i64]) {
            *self.existing.lock() = accounts.iter().copied().map(AccountId).collect();
        }
    }

    /// What belongs to whom.
    #[derive(Default)]
    struct Things(Mutex<BTreeMap<AccountId, u32>>, Mutex<BTreeSet<AccountId>>);

    #[async_trait]
    impl Belongings for Things {
        async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
            let all = self.0.lock().keys().copied().collect::<Vec<_>>();
            Ok(all.into_iter().filter(|id| Some(*id) > after).take(limit).collect())
        }

        async fn let_go(&self, former: AccountId) -> Result<()> {
            self.0.lock().remove(&former);
            Ok(())
        }

        async fn note(&self, changed: AccountId) -> Result<()> {
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

    fn scene() -> (Arc<Tier>, Things, Leavers) {
        let tier = Arc::new(Tier::default());
        let leavers = Leavers::new(AccountsClient::new(Arc::clone(&tier) as Arc<dyn Backend>));
        (tier, Things::default(), leavers)
    }

    const BEGIN: Timestamp = Timestamp::UNIX_EPOCH;

    #[tokio::test]
    async fn what_belongs_to_a_deleted_account_goes_with_it() {
        let (tier, things, mut leavers) = scene();
        tier.has(&[1, 2, 3]);
        things.give([1, 2, 3]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [1, 2, 3]);
        tier.has(&[3]);
        tier.told.lock().extend([3, 1, 2, 1].map(AccountId));
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [3]);
    }

    #[tokio::test]
    async fn whoever_has_changed_and_is_there_is_noted() {
        let (tier, things, mut leavers) = scene();
        tier.has(&[1, 2, 3]);
        things.give([1, 2, 3]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        tier.has(&[1, 2]);
        tier.told.lock().extend([1, 3].map(AccountId));
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(*things.1.lock(), BTreeSet::from([AccountId(1)]));
        assert_eq!(things.owners(), [1, 2]);
    }

    #[tokio::test]
    async fn whoever_left_while_nobody_listened_has_left() {
        let (tier, things, mut leavers) = scene();
        // More than are asked for at once, before the first time.
        things.give(1..=1_200);
        tier.has(&[7, 1_100]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7, 1_100]);
        // The accounts are those of another feed.
        *tier.feed.lock() = Uuid::max();
        tier.has(&[7]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7]);
        // Taken by somebody who was gone already.
        things.give([8]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [7, 8]);
        leavers.see_off(&things, BEGIN + ALL_EVERY).await.unwrap();
        assert_eq!(things.owners(), [7]);
    }

    #[tokio::test]
    async fn what_could_not_be_done_is_done_the_next_time() {
        let (tier, things, mut leavers) = scene();
        things.give([1, 2]);
        tier.has(&[1, 2]);
        leavers.see_off(&things, BEGIN).await.unwrap();
        tier.has(&[2]);
        tier.told.lock().push(AccountId(1));
        *tier.is_away.lock() = true;
        assert!(leavers.see_off(&things, BEGIN).await.is_err());
        assert_eq!(things.owners(), [1, 2]);
        *tier.is_away.lock() = false;
        leavers.see_off(&things, BEGIN).await.unwrap();
        assert_eq!(things.owners(), [2]);
    }
}
