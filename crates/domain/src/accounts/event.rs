//! What happened to an account, for its owner and for staff.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AccountId;
use crate::names::names;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The account was made.
    SignedUp,
    /// A session began.
    SignedIn,
    /// A session was ended before its time.
    SignedOut,
    /// All sessions were ended.
    SignedOutEverywhere,
    /// The password was changed by who knew it.
    PasswordChanged,
    /// The password is kept in another form since it was said.
    PasswordRenewed,
    /// The nickname or the address was changed.
    Edited,
    /// The role was changed.
    RoleChanged,
    /// The account was banned.
    Banned,
    /// The ban was lifted.
    Unbanned,
    /// A one-time code was given out.
    ResetIssued,
    /// The password was set with a one-time code.
    PasswordReset,
    /// The account was deleted by its owner.
    Deleted,
    /// A session began by a provider.
    SignedInByProvider,
    /// A provider opens the account from now on.
    Linked,
    /// A provider opens it no more.
    Unlinked,
    /// The picture was set or taken away.
    PictureChanged,
}

names!(EventKind {
    SignedUp = "signed_up",
    SignedIn = "signed_in",
    SignedOut = "signed_out",
    SignedOutEverywhere = "signed_out_everywhere",
    PasswordChanged = "password_changed",
    PasswordRenewed = "password_renewed",
    Edited = "edited",
    RoleChanged = "role_changed",
    Banned = "banned",
    Unbanned = "unbanned",
    ResetIssued = "reset_issued",
    PasswordReset = "password_reset",
    Deleted = "deleted",
    SignedInByProvider = "signed_in_by_provider",
    Linked = "linked",
    Unlinked = "unlinked",
    PictureChanged = "picture_changed",
});

/// Who does something to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// Its owner.
    Owner,
    /// Somebody of the staff, by their account.
    Staff(AccountId),
    /// Whoever runs the server, by its command line.
    Operator,
}

/// Something that happened to an account. It is stored in the transaction that made it happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// To which.
    pub account: AccountId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
    /// Who did it.
    pub by: Actor,
}
