//! Events of accounts as security events.

use super::{AccountEvent, AccountEventKind, Actor};
use crate::security::{self, SecurityActor, SecurityEventKind};

impl AccountEvent {
    /// Records this event, which was stored, if it is a security event.
    pub(super) fn record(&self, detail: &str) {
        let Some(kind) = self.security_event() else { return };
        let actor = match self.by {
            Actor::Owner => SecurityActor::Account(self.account),
            Actor::Staff(id) => SecurityActor::Account(id),
            Actor::Operator => SecurityActor::Operator,
        };
        security::record_by(actor, kind, Some(self.account), detail);
    }

    fn security_event(&self) -> Option<SecurityEventKind> {
        use SecurityEventKind as Kind;
        Some(match self.kind {
            AccountEventKind::SignedUp => Kind::AccountCreated,
            AccountEventKind::SignedIn | AccountEventKind::SignedInByProvider => Kind::SignIn,
            AccountEventKind::SignedOutEverywhere => Kind::SessionsEnded,
            AccountEventKind::PasswordChanged => Kind::PasswordChanged,
            AccountEventKind::RoleChanged => Kind::RoleChanged,
            AccountEventKind::Banned => Kind::Banned,
            AccountEventKind::Unbanned => Kind::Unbanned,
            AccountEventKind::ResetIssued => Kind::ResetCodeIssued,
            AccountEventKind::PasswordReset => Kind::PasswordReset,
            AccountEventKind::Deleted => Kind::AccountDeleted,
            AccountEventKind::Linked => Kind::ProviderLinked,
            AccountEventKind::Unlinked => Kind::ProviderUnlinked,
            AccountEventKind::PictureChanged if self.by != Actor::Owner => Kind::PictureRemoved,
            AccountEventKind::Edited
            | AccountEventKind::SignedOut
            | AccountEventKind::PasswordRenewed
            | AccountEventKind::TokenRenewed
            | AccountEventKind::PictureChanged => return None,
        })
    }
}
