//! What is answered to a call.

use derive_more::{From, TryInto};
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, Changed, Departure, Export, FreshSession, LinkedIdentity, PictureId,
    Provider, Session, SignedIn, Welcome,
};
use crate::{Done, secret::Hidden};

/// What came of a call that was not refused. Each variant is made of, and becomes, what it holds: several fields are a
/// tuple, and none is ().
#[derive(Debug, Clone, Serialize, Deserialize, From, TryInto)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done.
    Done,
    /// The account that was made; none if the name is taken.
    SignedUp(Done<Option<Account>>),
    /// The session that began.
    SignedIn(FreshSession),
    /// Who is signed in.
    Who(SignedIn),
    /// The account.
    Account(Account),
    /// The sessions, newest first.
    Sessions(Vec<Session>),
    /// What has changed.
    Changed(Changed),
    /// All that is kept.
    Export(Box<Export>),
    /// The accounts, in the order of their names.
    Accounts(Vec<Account>),
    /// The one-time code.
    Code(Hidden),
    /// The providers, in the order in which they are shown.
    Providers(Vec<Provider>),
    /// Where somebody goes.
    Departed(Departure),
    /// How somebody is received.
    Arrived(Welcome),
    /// The identities that open the account.
    Identities(Vec<LinkedIdentity>),
    /// The account with its new picture.
    PictureSet {
        /// The account.
        account: Account,
        /// The picture that it had before.
        former: Option<PictureId>,
    },
    /// The pictures that are somebody's.
    Pictured(Vec<PictureId>),
    /// The account is deleted.
    Deleted {
        /// The picture that it had.
        picture: Option<PictureId>,
    },
    /// The accounts that are there.
    Existing(Vec<AccountId>),
}

impl From<()> for Reply {
    fn from((): ()) -> Self {
        Self::Done
    }
}
