//! What happened to an account, for its owner and for staff.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AccountId;

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

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::SignedUp,
        Self::SignedIn,
        Self::SignedOut,
        Self::SignedOutEverywhere,
        Self::PasswordChanged,
        Self::PasswordRenewed,
        Self::Edited,
        Self::RoleChanged,
        Self::Banned,
        Self::Unbanned,
        Self::ResetIssued,
        Self::PasswordReset,
        Self::Deleted,
        Self::SignedInByProvider,
        Self::Linked,
        Self::Unlinked,
        Self::PictureChanged,
    ];

    /// Its name in stores and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedUp => "signed_up",
            Self::SignedIn => "signed_in",
            Self::SignedOut => "signed_out",
            Self::SignedOutEverywhere => "signed_out_everywhere",
            Self::PasswordChanged => "password_changed",
            Self::PasswordRenewed => "password_renewed",
            Self::Edited => "edited",
            Self::RoleChanged => "role_changed",
            Self::Banned => "banned",
            Self::Unbanned => "unbanned",
            Self::ResetIssued => "reset_issued",
            Self::PasswordReset => "password_reset",
            Self::Deleted => "deleted",
            Self::SignedInByProvider => "signed_in_by_provider",
            Self::Linked => "linked",
            Self::Unlinked => "unlinked",
            Self::PictureChanged => "picture_changed",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

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
