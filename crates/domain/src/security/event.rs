//! Security events.

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Random, accounts::AccountId, names::names, random::time_ordered_id};

/// The maximum length of a detail, in characters.
const DETAIL_CHARS_MAX: usize = 200;

/// The kind of a security event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityEventKind {
    /// An account or an API key began a session.
    SignIn,
    /// A sign-in was refused: wrong password, unknown name, or a banned account.
    SignInFailed,
    /// A password was not verified, because of too many failures.
    LockedOut,
    /// A signed-in account gave a wrong current password.
    ReauthenticationFailed,
    /// An API key, bot key or gate key is unknown or revoked.
    KeyRefused,
    /// The callback of a provider does not belong to a sign-in of this browser.
    LoginStateRefused,
    /// A wrong setup code was given.
    SetupRefused,
    /// All or all other sessions of an account were ended.
    SessionsEnded,
    /// The password was changed with the current one.
    PasswordChanged,
    /// The password was set with a one-time code.
    PasswordReset,
    /// A wrong, used or expired one-time code was given.
    PasswordResetFailed,
    /// A one-time code for a new password was issued.
    ResetCodeIssued,
    /// The e-mail address was changed.
    EmailChanged,
    /// A provider's identity was linked.
    ProviderLinked,
    /// A provider's identity was unlinked.
    ProviderUnlinked,
    /// An account was created.
    AccountCreated,
    /// Accounts were imported.
    AccountsImported,
    /// An account was deleted by its owner.
    AccountDeleted,
    /// An account was banned.
    Banned,
    /// The ban of an account was lifted.
    Unbanned,
    /// The role of an account was changed.
    RoleChanged,
    /// The picture of an account was removed by staff.
    PictureRemoved,
    /// An API key, a bot or a gate was created.
    KeyCreated,
    /// A gate got a new key.
    KeyRenewed,
    /// An API key, a bot or a gate was revoked.
    KeyRevoked,
    /// A webhook was added.
    WebhookAdded,
    /// A webhook was removed.
    WebhookRemoved,
    /// A channel was created or changed.
    ChannelChanged,
    /// A message was hidden or shown again by staff.
    MessageModerated,
    /// A member was banned from the board.
    BoardBanned,
    /// The ban of a member from the board was lifted.
    BoardUnbanned,
    /// The operator ran a command that reads or replaces data of others.
    OperatorCommand,
    /// A request was refused, because its sender may not do this.
    AccessRefused,
    /// A request that a page of another site sent was refused.
    CrossSiteRefused,
}

names!(SecurityEventKind {
    SignIn = "sign_in",
    SignInFailed = "sign_in_failed",
    LockedOut = "locked_out",
    ReauthenticationFailed = "reauthentication_failed",
    KeyRefused = "key_refused",
    LoginStateRefused = "login_state_refused",
    SetupRefused = "setup_refused",
    SessionsEnded = "sessions_ended",
    PasswordChanged = "password_changed",
    PasswordReset = "password_reset",
    PasswordResetFailed = "password_reset_failed",
    ResetCodeIssued = "reset_code_issued",
    EmailChanged = "email_changed",
    ProviderLinked = "provider_linked",
    ProviderUnlinked = "provider_unlinked",
    AccountCreated = "account_created",
    AccountsImported = "accounts_imported",
    AccountDeleted = "account_deleted",
    Banned = "banned",
    Unbanned = "unbanned",
    RoleChanged = "role_changed",
    PictureRemoved = "picture_removed",
    KeyCreated = "key_created",
    KeyRenewed = "key_renewed",
    KeyRevoked = "key_revoked",
    WebhookAdded = "webhook_added",
    WebhookRemoved = "webhook_removed",
    ChannelChanged = "channel_changed",
    MessageModerated = "message_moderated",
    BoardBanned = "board_banned",
    BoardUnbanned = "board_unbanned",
    OperatorCommand = "operator_command",
    AccessRefused = "access_refused",
    CrossSiteRefused = "cross_site_refused",
});

impl SecurityEventKind {
    /// Whether any client can cause events of this kind at will. A store limits their number, so that a flood of them
    /// removes no other event.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::SignInFailed
                | Self::LockedOut
                | Self::ReauthenticationFailed
                | Self::KeyRefused
                | Self::LoginStateRefused
                | Self::SetupRefused
                | Self::PasswordResetFailed
                | Self::AccessRefused
                | Self::CrossSiteRefused
        )
    }
}

/// The party that a request comes from, or that caused a security event.
#[derive(derive_more::Display, Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityActor {
    /// A client without a credential, or with a wrong one.
    #[display("visitor")]
    Visitor,
    /// The operator, with the command line.
    #[display("operator")]
    Operator,
    /// An account.
    #[display("account {}", _0.0)]
    Account(AccountId),
    /// The holder of the API key with this number.
    #[display("API key {_0}")]
    Key(i64),
}

impl SecurityActor {
    /// Returns the number that stores keep: `None` for a visitor, 0 for the operator, the number of an account, and
    /// the negated number of an API key. Both begin at 1.
    pub fn to_number(self) -> Option<i64> {
        match self {
            Self::Visitor => None,
            Self::Operator => Some(0),
            Self::Account(AccountId(id)) => Some(id),
            Self::Key(id) => Some(-id),
        }
    }

    /// Returns the actor with this stored number.
    pub fn of_number(number: Option<i64>) -> Self {
        match number {
            None => Self::Visitor,
            Some(0) => Self::Operator,
            Some(id) if id < 0 => Self::Key(id.saturating_neg()),
            Some(id) => Self::Account(AccountId(id)),
        }
    }
}

/// A security event that is to be recorded. The address is not stored as it is.
#[derive(Debug, Clone)]
pub struct NewSecurityEvent {
    /// The kind.
    pub kind: SecurityEventKind,
    /// The party that caused it.
    pub actor: SecurityActor,
    /// The account that it concerns.
    pub account: Option<AccountId>,
    /// The client's address, if it is known; a loopback address is this machine.
    pub address: Option<IpAddr>,
    /// What was changed or refused, without anything that a visitor typed.
    pub detail: String,
}

/// A recorded security event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityEvent {
    /// The id, which sorts by time.
    pub id: Uuid,
    /// The time; of repeated events the first.
    pub at: Timestamp,
    /// The time of the last repetition.
    pub last_at: Timestamp,
    /// How often it happened within a minute; above 1 only if it [may repeat](Self::may_repeat).
    pub repeats: u32,
    /// The kind.
    pub kind: SecurityEventKind,
    /// The party that caused it.
    pub actor: SecurityActor,
    /// The account that it concerns.
    pub account: Option<AccountId>,
    /// Where it came from, as the setting `log.addresses` says; empty if not known.
    pub origin: String,
    /// What was changed or refused.
    pub detail: String,
}

impl SecurityEvent {
    /// Whether a client can cause this event at will: a failure, or an act of an account on itself. Repeated ones are
    /// merged.
    pub fn may_repeat(&self) -> bool {
        let is_own = matches!(
            (self.actor, self.account),
            (SecurityActor::Account(actor), Some(account)) if actor == account
        );
        is_own || self.kind.is_failure()
    }

    /// Returns the first event of its kind within a minute.
    pub fn new(new: NewSecurityEvent, origin: String, at: Timestamp, random: &dyn Random) -> Self {
        let NewSecurityEvent { kind, actor, account, address: _, detail } = new;
        // As stores keep it.
        let at = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
        Self {
            id: time_ordered_id(random, at),
            at,
            last_at: at,
            repeats: 1,
            kind,
            actor,
            account,
            origin,
            detail: detail.chars().take(DETAIL_CHARS_MAX).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_kinds_are_those_of_json() {
        for kind in SecurityEventKind::ALL {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
        }
    }

    #[test]
    fn an_actor_is_read_back_from_its_number() {
        for actor in [
            SecurityActor::Visitor,
            SecurityActor::Operator,
            SecurityActor::Account(AccountId(7)),
            SecurityActor::Key(7),
        ] {
            assert_eq!(SecurityActor::of_number(actor.to_number()), actor);
        }
    }
}
