//! Sessions: that somebody is signed in, on one device.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Account, AccountId, EventKind};
use crate::secret;

/// What a session's token starts with.
pub const TOKEN_PREFIX: &str = "session_";

/// The longest description of a device that is kept, in characters.
const AGENT_CHARS_MAX: usize = 200;

/// A session's name among its account's, which opens nothing. Sorts by time (UUID v7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

/// What is kept of a session's token, and sent from tier to tier: its SHA-256.
#[derive(derive_more::Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[debug("SessionDigest(…)")]
#[serde(transparent)]
pub struct SessionDigest(pub [u8; 32]);

impl SessionDigest {
    /// Of a token as its holder carries it.
    pub fn of(token: &str) -> Self {
        Self(secret::token_digest(token))
    }

    /// The same, if it looks like the token of a session.
    pub fn of_token(text: &str) -> Option<Self> {
        text.starts_with(TOKEN_PREFIX).then(|| Self::of(text))
    }
}

/// A session, without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// Whose it is.
    pub account: AccountId,
    /// When it began.
    pub created_at: Timestamp,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
    /// What the device said that it is, as far as it is kept.
    pub agent: String,
}

/// A session to begin.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The session.
    pub session: Session,
    /// What its token is known by.
    pub digest: SessionDigest,
    /// The account's epoch when its owner proved who they are.
    pub epoch: u32,
    /// What is noted: by what they proved it.
    pub kind: EventKind,
}

/// Somebody who is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// By which session.
    pub session: Session,
    /// Who.
    pub account: Account,
}

/// Which of an account's sessions end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All.
    All,
    /// All but this one.
    AllBut(SessionId),
}

/// A device's description as it is kept: without controls, and not too long.
pub(super) fn described(agent: &str) -> String {
    agent.chars().filter(|c| !c.is_control()).take(AGENT_CHARS_MAX).collect()
}
