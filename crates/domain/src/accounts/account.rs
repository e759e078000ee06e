//! An account, its credential, and changes to them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Email, EndSessions, Nickname, PictureId, SessionId, Username};
use crate::{Error, Result, names::names, passwords::PasswordHash};

/// An account's number, assigned by the store and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub i64);

/// The role of an account; each includes the rights of those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// No rights over others.
    #[default]
    Member,
    /// Moderates members.
    Moderator,
    /// All rights.
    Admin,
}

names!(Role { Member = "member", Moderator = "moderator", Admin = "admin" });

impl Role {
    /// Parses a role's name.
    pub fn parse(name: &str) -> Result<Self> {
        let refused = || Error::invalid("role", "must be member, moderator or admin");
        Self::named(name).ok_or_else(refused)
    }
}

/// An account without its credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The number.
    pub id: AccountId,
    /// The username.
    pub username: Username,
    /// The display name.
    pub nickname: Nickname,
    /// The e-mail address; unverified.
    pub email: Option<Email>,
    /// The role.
    pub role: Role,
    /// Whether the account has a password to sign in with.
    pub has_password: bool,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the ban; a banned account cannot sign in.
    pub banned_at: Option<Timestamp>,
    /// Incremented whenever all sessions, or all but one, end; sessions of an earlier epoch are invalid.
    pub epoch: u32,
    /// The picture; `None` also in data from before pictures existed.
    #[serde(default)]
    pub picture: Option<PictureId>,
}

impl Account {
    /// Returns [`Error::Forbidden`] if the role is below `least`.
    pub fn check_role(&self, least: Role) -> Result<()> {
        if self.role < least {
            return Err(Error::forbidden("your role does not allow this"));
        }
        Ok(())
    }
}

/// The credential of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credential {
    /// The password's hash; `None` if the account signs in only with a provider.
    pub password: Option<PasswordHash>,
    /// The one-time code for a new password, if one was issued.
    pub reset: Option<Reset>,
}

/// A one-time code with which a new password can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// The code's SHA-256.
    pub digest: [u8; 32],
    /// The expiry.
    pub expires_at: Timestamp,
}

/// A page of accounts, ordered by username.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccountQuery {
    /// Only accounts whose username starts with this prefix.
    pub prefix: String,
    /// Only accounts after this username (keyset paging).
    pub after: Option<Username>,
    /// The maximum number of accounts, 1 to 1,000.
    pub limit: usize,
}

/// An account to create.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The username.
    pub username: Username,
    /// The display name.
    pub nickname: Nickname,
    /// The e-mail address; unverified.
    pub email: Option<Email>,
    /// The role.
    pub role: Role,
    /// The password's hash; `None` if the account signs in only with a provider.
    pub password: Option<PasswordHash>,
    /// The time of creation.
    pub created_at: Timestamp,
}

impl NewAccount {
    /// A member's account whose nickname is its username, without an e-mail address.
    pub fn new(username: Username, password: Option<PasswordHash>, created_at: Timestamp) -> Self {
        Self {
            nickname: Nickname::from(&username),
            username,
            email: None,
            role: Role::default(),
            password,
            created_at,
        }
    }
}

/// A change to an account; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct AccountChange {
    /// The display name.
    pub nickname: Option<Nickname>,
    /// The e-mail address; unverified.
    pub email: Option<Option<Email>>,
    /// The role.
    pub role: Option<Role>,
    /// The time of the ban; `Some(None)` lifts it.
    pub banned_at: Option<Option<Timestamp>>,
    /// The new password's hash.
    pub password: Option<PasswordHash>,
    /// The one-time code for a new password; `Some(None)` removes it.
    pub reset: Option<Option<Reset>>,
    /// The sessions that end in the same transaction.
    pub ending: Option<EndSessions>,
    /// Whether to unlink all provider identities in the same transaction.
    pub unlinks_all: bool,
    /// Condition: the account is at this epoch, the one that the change was decided at.
    pub at_epoch: Option<u32>,
    /// Condition: this session of the account is valid when the change is committed.
    pub by_session: Option<SessionId>,
    /// Condition: the account has this role, which decided that the caller may change it.
    pub had_role: Option<Role>,
    /// Condition: the staff member who makes the change has this role, and is not banned, when it is committed.
    pub staff_role: Option<Role>,
    /// Condition: no account is an admin.
    pub without_admin: bool,
    /// The picture; `Some(None)` removes it.
    pub picture: Option<Option<PictureId>>,
    /// Condition: the account has this picture, so that the caller knows which one is now unused.
    pub had_picture: Option<Option<PictureId>>,
}
