//! By whom accounts are opened whom a provider knows.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Account, AccountId, Event, NewAccount, SessionId};
use crate::{Error, Result, secret};

/// The longest subject, in characters (`OpenID` Connect Core, section 2).
const SUBJECT_MAX: usize = 255;

/// Who somebody is to a provider. An address or a name may become another's; this may not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The provider, by its issuer.
    pub issuer: String,
    /// What it calls them, of 1 to 255 characters.
    pub subject: String,
}

impl Identity {
    /// Somebody whom `issuer` calls `subject`.
    pub fn new(issuer: String, subject: String) -> Result<Self> {
        let is_sound = (1..=SUBJECT_MAX).contains(&subject.chars().count())
            && !subject.chars().any(char::is_control);
        if !is_sound {
            return Err(Error::forbidden("the provider does not say who you are"));
        }
        Ok(Self { issuer, subject })
    }
}

/// An identity that opens an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedIdentity {
    /// Which.
    pub identity: Identity,
    /// Since when.
    pub linked_at: Timestamp,
}

/// What is kept of a ticket, and sent from tier to tier: its SHA-256.
#[derive(derive_more::Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[debug("TicketDigest(…)")]
#[serde(transparent)]
pub struct TicketDigest(pub [u8; 32]);

impl TicketDigest {
    /// Of a ticket as its holder carries it.
    pub fn of(ticket: &str) -> Self {
        Self(secret::token_digest(ticket))
    }
}

/// With it somebody whom a provider knows, and nobody here, makes an account, once.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// What it is known by.
    pub digest: TicketDigest,
    /// Who they are.
    pub identity: Identity,
    /// From when on it is of no use.
    pub expires_at: Timestamp,
}

/// What came of redeeming a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// The account is made, and opened by the identity; the ticket is used up.
    Made(Account),
    /// The name is taken; the ticket stays.
    Taken,
    /// The identity opens an account already.
    Known,
    /// There is no such ticket, or it was used, or its time is over.
    NoTicket,
}

/// What came of linking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// The identity opens the account, perhaps for some time already.
    Done,
    /// It opens another one.
    Elsewhere,
    /// The account is opened by another identity of the same issuer.
    Another,
    /// The session that asks has ended.
    NoSession,
}

/// What is to be unlinked.
#[derive(Debug, Clone)]
pub struct Unlink {
    /// The issuer of the identity; an account has one of each at most.
    pub issuer: String,
    /// The session that stays; all others end.
    pub kept: SessionId,
    /// Who asks for it: by one of these issuers, or a password, the account must still be opened.
    pub issuers: Vec<String>,
}

/// What came of unlinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlinked {
    /// The identity opens nothing any more.
    Done,
    /// The account had none of that issuer.
    NotLinked,
    /// Nothing else would open the account.
    OnlyWay,
}

/// Keeps which identities open which accounts, and tickets, beside the accounts themselves. An account that
/// is removed takes its identities with it.
#[async_trait]
pub trait IdentityStore: Send + Sync {
    /// The account that an identity opens.
    async fn find(&self, identity: &Identity) -> Result<Option<Account>>;

    /// The identities that open an account, in the order of their issuers.
    async fn list(&self, account: AccountId) -> Result<Vec<LinkedIdentity>>;

    /// Lets an identity open the event's account, if `session` is one of its sessions still, and notes the
    /// event.
    async fn link(&self, identity: Identity, session: SessionId, event: Event) -> Result<Linked>;

    /// Takes an identity from the event's account, ends its other sessions, and notes the event.
    async fn unlink(&self, unlink: Unlink, event: Event) -> Result<Unlinked>;

    /// Keeps a ticket; an earlier one of the same identity is of no use any more. Of all tickets those of
    /// the last 10,000 arrivals are kept.
    async fn issue(&self, ticket: NewTicket) -> Result<()>;

    /// Makes an account with a ticket, at the account's time.
    async fn redeem(&self, ticket: TicketDigest, account: NewAccount) -> Result<Redeemed>;
}
