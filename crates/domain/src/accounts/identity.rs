//! Identities at providers, linked to accounts, and tickets for provider sign-ups.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Account, AccountEvent, AccountId, NewAccount, SessionId};
use crate::{Error, Result, secret};

/// The maximum length of a subject, in characters (`OpenID` Connect Core, section 2).
const SUBJECT_MAX: usize = 255;

/// A user's identity at a provider. Unlike an e-mail address or a name it is never reassigned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The provider's issuer.
    pub issuer: String,
    /// The provider's id of the user (`sub`), 1 to 255 characters.
    pub subject: String,
}

impl Identity {
    /// Creates the identity of `subject` at `issuer`.
    pub fn new(issuer: String, subject: String) -> Result<Self> {
        let is_sound = (1..=SUBJECT_MAX).contains(&subject.chars().count())
            && !subject.chars().any(char::is_control);
        if !is_sound {
            return Err(Error::forbidden("the provider sent no valid user id"));
        }
        Ok(Self { issuer, subject })
    }
}

/// An identity linked to an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedIdentity {
    /// The identity.
    pub identity: Identity,
    /// The time of linking.
    pub linked_at: Timestamp,
}

/// The SHA-256 of a ticket, the form in which it is stored and sent between tiers.
#[derive(derive_more::Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[debug("TicketDigest(…)")]
#[serde(transparent)]
pub struct TicketDigest(pub [u8; 32]);

impl TicketDigest {
    /// Returns the digest of a ticket.
    pub fn of(ticket: &str) -> Self {
        Self(secret::token_digest(ticket))
    }
}

/// A ticket with which a user whose identity has no account creates one, once.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// The digest of the ticket.
    pub digest: TicketDigest,
    /// The identity.
    pub identity: Identity,
    /// The expiry.
    pub expires_at: Timestamp,
}

/// The outcome of redeeming a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// The account was created and linked to the identity; the ticket is used up.
    Made(Account),
    /// The name is taken; the ticket stays valid.
    Taken,
    /// The identity is already linked to an account.
    Known,
    /// The ticket is unknown, used or expired.
    NoTicket,
}

/// The outcome of linking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// The identity is linked to the account; it may have been before.
    Done,
    /// The identity is linked to another account.
    Elsewhere,
    /// Another identity of the same issuer is linked to the account.
    Another,
    /// The caller's session has ended.
    NoSession,
}

/// A request to unlink an identity.
#[derive(Debug, Clone)]
pub struct Unlink {
    /// The issuer of the identity; an account has at most one identity of each.
    pub issuer: String,
    /// The session that stays valid; all others end.
    pub kept: SessionId,
    /// The issuers of the configured providers: the account must keep a password or an identity of one of these.
    pub issuers: Vec<String>,
}

/// The outcome of unlinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlinked {
    /// The identity was unlinked.
    Done,
    /// The account has no identity of that issuer.
    NotLinked,
    /// It is the only way to sign in to the account.
    OnlyWay,
}

/// A store of linked identities and tickets, in the same database as the accounts. Removing an account removes its
/// identities.
#[async_trait]
pub trait IdentityStore: Send + Sync {
    /// Returns the account linked to an identity.
    async fn find(&self, identity: &Identity) -> Result<Option<Account>>;

    /// Returns an account's identities, ordered by issuer.
    async fn list(&self, account: AccountId) -> Result<Vec<LinkedIdentity>>;

    /// Links an identity to the event's account if `session` is still one of its sessions, and records the event.
    async fn link(
        &self,
        identity: Identity,
        session: SessionId,
        event: AccountEvent,
    ) -> Result<Linked>;

    /// Unlinks an identity from the event's account, ends its other sessions, and records the event.
    async fn unlink(&self, unlink: Unlink, event: AccountEvent) -> Result<Unlinked>;

    /// Stores a ticket, which invalidates an earlier one of the same identity. Only the newest 10,000 tickets are
    /// kept.
    async fn issue(&self, ticket: NewTicket) -> Result<()>;

    /// Creates an account with a ticket; the account's `created_at` is the time of redemption.
    async fn redeem(&self, ticket: TicketDigest, account: NewAccount) -> Result<Redeemed>;
}
