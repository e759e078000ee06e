//! Sessions: sign-ins of an account, one per device.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Account, AccountEventKind, AccountId};
use crate::secret;

/// The prefix of every session token.
pub const TOKEN_PREFIX: &str = "session_";

/// How long an authentication counts as reauthentication of an account without a password.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

/// The maximum length of a stored `User-Agent`, in characters.
const AGENT_CHARS_MAX: usize = 200;

/// A session's public id, which authenticates nothing. Sorts by time (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

/// The SHA-256 of a session token, the form in which it is stored and sent between tiers.
#[derive(derive_more::Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[debug("SessionDigest(…)")]
#[serde(transparent)]
pub struct SessionDigest(pub [u8; 32]);

impl SessionDigest {
    /// Returns the digest of a token.
    pub fn of(token: &str) -> Self {
        Self(secret::token_digest(token))
    }

    /// Returns the digest of a text with the prefix of session tokens, else `None`.
    pub fn of_token(text: &str) -> Option<Self> {
        text.starts_with(TOKEN_PREFIX).then(|| Self::of(text))
    }
}

/// A session without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The public id.
    pub id: SessionId,
    /// The account.
    pub account: AccountId,
    /// The time of the sign-in.
    pub created_at: Timestamp,
    /// The expiry, unless the session is used before.
    pub expires_at: Timestamp,
    /// The `User-Agent`, shortened.
    pub agent: String,
    /// When the account's owner authenticated, as far as that is known: a provider may remember an earlier sign-in.
    #[serde(default)]
    pub authenticated_at: Option<Timestamp>,
}

impl Session {
    /// Whether the account's owner authenticated within the last ten minutes.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        self.authenticated_at.is_some_and(|at| now.duration_since(at) <= RECENT)
    }
}

/// A session to store.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The session.
    pub session: Session,
    /// The digest of the token.
    pub digest: SessionDigest,
    /// The account's epoch at authentication.
    pub epoch: u32,
    /// The event to record, which names the way of authentication.
    pub kind: AccountEventKind,
}

/// A signed-in account and its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The account.
    pub account: Account,
}

/// The sessions of an account to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndSessions {
    /// All sessions.
    All,
    /// All but this session.
    AllBut(SessionId),
}

/// Returns a `User-Agent` without control characters, cut to its maximum length.
pub(super) fn described(agent: &str) -> String {
    agent.chars().filter(|c| !c.is_control()).take(AGENT_CHARS_MAX).collect()
}
