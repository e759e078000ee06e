//! The stores of accounts and sessions.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Account, AccountChange, AccountEvent, AccountId, AccountQuery, Credential, NewAccount,
    NewSession, PictureId, Session, SessionDigest, SessionId, SignedIn, Username,
};
use crate::{Error, IdempotencyKey, Idempotent, Result};

/// The stored outcome of a write, for repeated requests with the same `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignUpOutcome {
    /// An account was created. Only its number is stored, so that no data about it stays here after its deletion.
    SignedUp(AccountId),
    /// The username was taken.
    Taken,
}

impl SignUpOutcome {
    /// The error for a repeated sign-up whose account has since been deleted.
    pub const DELETED: Error = Error::gone("this account was created and has since been deleted");
}

/// A position in a change feed, with a meaning known only to its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedPosition {
    /// The feed's identity. A copy that may lack changes that were already reported, such as an older backup of the
    /// database, has another identity.
    pub feed: Uuid,
    /// The position.
    pub at: i64,
}

/// The changes since a position in the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedPage {
    /// The changed accounts, possibly with repetitions.
    pub accounts: Vec<AccountId>,
    /// The position to continue from.
    pub place: FeedPosition,
    /// Whether more changes can be read at once.
    pub more: bool,
    /// Whether the given position is unknown: it is of another feed, or past the end of this one. Then any account
    /// may have changed, and only the current position is returned.
    #[serde(default)]
    pub begins_anew: bool,
}

/// The store of accounts. A change that is answered with `Ok` survives the loss of the process. Every lookup is by
/// a unique key.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Returns the stored outcome of an earlier [`Self::add`] with this idempotency key.
    async fn stored_outcome(&self, idempotency: &IdempotencyKey) -> Result<Option<SignUpOutcome>>;

    /// Creates an account; `None` if the name or a look-alike ([`Username::skeleton`]) is taken, possibly by a deleted
    /// account whose name is still reserved.
    /// Of concurrent calls for one name exactly one succeeds. A repeated request returns the account in its current
    /// state, or [`SignUpOutcome::DELETED`].
    async fn add(
        &self,
        account: NewAccount,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Option<Account>>>;

    /// Creates accounts in one transaction; returns for each whether its name was free. The time of creation is
    /// each account's `created_at`.
    async fn add_many(&self, accounts: Vec<NewAccount>) -> Result<Vec<bool>>;

    /// Returns the account with this username, and its credential.
    async fn find(&self, name: &Username) -> Result<Option<(Account, Credential)>>;

    /// Returns the account with this number, and its credential.
    async fn get(&self, id: AccountId) -> Result<Option<(Account, Credential)>>;

    /// Whether an account is an admin.
    async fn has_admin(&self) -> Result<bool>;

    /// Returns a page of accounts, ordered by username.
    async fn list(&self, query: AccountQuery) -> Result<Vec<Account>>;

    /// Applies `change` and records `event`; `None` if there is no such account or a condition of the change is not
    /// met: epoch, picture, role, session or that there is no admin.
    async fn change(&self, change: AccountChange, event: AccountEvent) -> Result<Option<Account>>;

    /// Deletes the event's account with its data; its name stays reserved for a while, and its events stay. Returns
    /// the account before its deletion, if it exists.
    async fn remove(&self, event: AccountEvent) -> Result<Option<Account>>;

    /// Returns those of `pictures` that an account has.
    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>>;

    /// Returns an account's events, newest first, at most `limit`.
    async fn events(&self, id: AccountId, limit: usize) -> Result<Vec<AccountEvent>>;
}

/// The store of sessions, in the same database as their accounts.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Begins a session; false if the account is deleted, banned, or at another epoch, in which case the caller's
    /// proof of identity is out of date.
    async fn begin(&self, new: NewSession) -> Result<bool>;

    /// Returns the session with this token digest and its account, if it is valid at `now`.
    async fn find(&self, digest: SessionDigest, now: Timestamp) -> Result<Option<SignedIn>>;

    /// Puts off the expiry of the session with this token digest, if it exists.
    async fn extend(&self, digest: SessionDigest, expires_at: Timestamp) -> Result<()>;

    /// Replaces the digest `from` of a session of an account; false if the account has no such session.
    async fn replace_token(
        &self,
        account: AccountId,
        from: SessionDigest,
        to: SessionDigest,
        at: Timestamp,
    ) -> Result<bool>;

    /// Returns an account's sessions that are valid at `now`, newest first, at most `limit`.
    async fn list(&self, account: AccountId, now: Timestamp, limit: usize) -> Result<Vec<Session>>;

    /// Returns accounts that have sessions that expire after `now`, at most `limit`, by number, with numbers above
    /// `after`.
    async fn accounts(
        &self,
        after: AccountId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<AccountId>>;

    /// Returns the accounts that changed since `place`, whose cached sessions may be out of date. Without a
    /// position, or with an unknown one, only the current position is returned.
    async fn changed_since(&self, place: Option<FeedPosition>) -> Result<FeedPage>;

    /// Ends one session of an account; false if the account has no such session.
    async fn end(&self, account: AccountId, session: SessionId, at: Timestamp) -> Result<bool>;
}
