//! The history of an account, for its owner and for staff.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AccountId;
use crate::names::names;

/// The kind of an account event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountEventKind {
    /// The account was created.
    SignedUp,
    /// A session began.
    SignedIn,
    /// A session was ended before it expired.
    SignedOut,
    /// All sessions were ended.
    SignedOutEverywhere,
    /// The password was changed with the current one.
    PasswordChanged,
    /// The password was rehashed with the current algorithm at a sign-in.
    PasswordRenewed,
    /// The nickname or the e-mail address was changed.
    Edited,
    /// The role was changed.
    RoleChanged,
    /// The account was banned.
    Banned,
    /// The ban was lifted.
    Unbanned,
    /// A one-time code for a new password was issued.
    ResetIssued,
    /// The password was set with a one-time code.
    PasswordReset,
    /// The account was deleted by its owner.
    Deleted,
    /// A session began with a provider.
    SignedInByProvider,
    /// A provider's identity was linked.
    Linked,
    /// A provider's identity was unlinked.
    Unlinked,
    /// The picture was set or removed.
    PictureChanged,
    /// The token of a session was replaced after a reauthentication.
    TokenRenewed,
}

names!(AccountEventKind {
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
    TokenRenewed = "token_renewed",
});

/// The party that changed an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The account's owner.
    Owner,
    /// A moderator or admin, by account.
    Staff(AccountId),
    /// The operator, with the command line.
    Operator,
}

/// An event in an account's history, stored in the transaction that caused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountEvent {
    /// The account.
    pub account: AccountId,
    /// The time.
    pub at: Timestamp,
    /// The kind.
    pub kind: AccountEventKind,
    /// The party that caused it.
    pub by: Actor,
}
