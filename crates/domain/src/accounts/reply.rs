//! Replies to calls of the accounts tier.

use derive_more::{From, TryInto};
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, Export, FeedPage, FreshSession, LinkedIdentity, LoginOutcome,
    LoginRedirect, NamedSecurityEvent, PictureId, Provider, Session, SignedIn,
};
use crate::{Idempotent, secret::SecretText};

/// The successful reply to a call. Each variant converts from and to its content: several fields are a tuple, no
/// field is `()`.
#[derive(Debug, Clone, Serialize, Deserialize, From, TryInto)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Success without content.
    Done,
    /// The account that was created; `None` if the name is taken.
    SignedUp(Idempotent<Option<Account>>),
    /// The new session.
    SignedIn(FreshSession),
    /// The session and its account.
    Who(SignedIn),
    /// The account.
    Account(Account),
    /// The sessions, newest first.
    Sessions(Vec<Session>),
    /// The changes in the feed.
    Changed(FeedPage),
    /// All data about the account.
    Export(Box<Export>),
    /// The accounts, ordered by username.
    Accounts(Vec<Account>),
    /// The one-time code.
    Code(SecretText),
    /// The providers, in display order.
    Providers(Vec<Provider>),
    /// The redirect to a provider.
    Redirect(LoginRedirect),
    /// The result of a sign-in with a provider.
    Login(LoginOutcome),
    /// The identities linked to the account.
    Identities(Vec<LinkedIdentity>),
    /// The account with its new picture, or without one.
    PictureSet {
        /// The account.
        account: Account,
        /// The previous picture.
        former: Option<PictureId>,
    },
    /// The pictures that an account has.
    Pictured(Vec<PictureId>),
    /// The account was deleted.
    Deleted {
        /// The account's picture.
        picture: Option<PictureId>,
    },
    /// The accounts that exist.
    Existing(Vec<AccountId>),
    /// The security events, newest first.
    SecurityEvents(Vec<NamedSecurityEvent>),
    /// Whether no account is an admin.
    NeedsAdmin(bool),
}

impl From<()> for Reply {
    fn from((): ()) -> Self {
        Self::Done
    }
}
