//! Keeps accounts and their sessions.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Account, AccountChange, AccountId, AccountQuery, Credential, Event, NewAccount, NewSession,
    PictureId, Session, SessionDigest, SessionId, SignedIn, Username,
};
use crate::{Attempt, Done, Error, Result};

/// What a write came to, as it is kept for a repetition with the same Idempotency-Key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// An account was made. Its number is enough, so that nothing about it stays here when it is deleted.
    SignedUp(AccountId),
    /// The name was taken.
    Taken,
}

impl Outcome {
    /// What is left to tell of an account that was made, and is deleted since.
    pub const DELETED: Error = Error::gone("this account was made, and is deleted since");
}

/// A place in a feed of changes; only its store knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedPlace {
    /// In which feed. Whatever may not hold all that was told before, such as an older copy of a database,
    /// is another one.
    pub feed: Uuid,
    /// Where in it.
    pub at: i64,
}

/// What has changed since a place in the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The accounts, some more than once.
    pub accounts: Vec<AccountId>,
    /// Where to go on.
    pub place: FeedPlace,
    /// Whether there is more to be had at once.
    pub more: bool,
    /// Whether this feed does not know the place from which it was to go on: it is of another feed, or past
    /// the end of this one. Then anything may have changed, and nothing is told but the place of now.
    #[serde(default)]
    pub begins_anew: bool,
}

/// Keeps accounts. Whatever a method answers with `Ok` survives the loss of the process. Every lookup is
/// by a unique key.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// What an earlier [`Self::add`] with this attempt came to.
    async fn recall(&self, attempt: &Attempt) -> Result<Option<Outcome>>;

    /// Makes an account; `None` if the name is taken, be it by one that is deleted and whose name is
    /// still reserved. Of many at once for one name exactly one is made. A repetition is answered with the
    /// account as it is by then; [`Outcome::DELETED`] if it is deleted.
    async fn add(
        &self,
        account: NewAccount,
        attempt: Option<Attempt>,
    ) -> Result<Done<Option<Account>>>;

    /// Makes accounts together, all or none in the case of an error; whether each one's name was free. Only
    /// their own time says when they were made.
    async fn add_many(&self, accounts: Vec<NewAccount>) -> Result<Vec<bool>>;

    /// The account of that name, with what proves whose it is.
    async fn find(&self, name: &Username) -> Result<Option<(Account, Credential)>>;

    /// The account of that number, with what proves whose it is.
    async fn get(&self, id: AccountId) -> Result<Option<(Account, Credential)>>;

    /// Accounts in the order of their names.
    async fn list(&self, query: AccountQuery) -> Result<Vec<Account>>;

    /// Changes what `change` names, and notes `event`; `None` if there is no such account, or it is at
    /// another epoch, or has another picture or role, than the change is meant for, or the session has ended by
    /// which it is made.
    async fn change(&self, change: AccountChange, event: Event) -> Result<Option<Account>>;

    /// Deletes an account with all that it holds but its name, which nobody gets for a while, and its
    /// events; the account as it was, if there is one.
    async fn remove(&self, event: Event) -> Result<Option<Account>>;

    /// Those of these pictures that are somebody's.
    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>>;

    /// What happened to an account, newest first, at most `limit`.
    async fn events(&self, id: AccountId, limit: usize) -> Result<Vec<Event>>;
}

/// Keeps sessions, of the same accounts.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Begins a session; false if the account is gone, banned, or at another epoch: then whoever asked
    /// has proved who they were, not who they are.
    async fn begin(&self, new: NewSession) -> Result<bool>;

    /// Who is signed in by the token with this digest at `now`, if anybody is.
    async fn find(&self, digest: SessionDigest, now: Timestamp) -> Result<Option<SignedIn>>;

    /// An account's sessions that open something at `now`, newest first, at most `limit`.
    async fn list(&self, account: AccountId, now: Timestamp, limit: usize) -> Result<Vec<Session>>;

    /// The accounts to which something has happened since: what is remembered of their sessions may not be
    /// so any more. Without a place to begin, or with one that is not known here, only the place of now is
    /// told.
    async fn changed_since(&self, place: Option<FeedPlace>) -> Result<Changed>;

    /// Ends one session of an account; false if it has none of that name.
    async fn end(&self, account: AccountId, session: SessionId, at: Timestamp) -> Result<bool>;
}
