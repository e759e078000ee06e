//! An account and its parts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Email, Ending, Nickname, PictureId, SessionId, Username};
use crate::{Error, Result, names::names, passwords::PasswordHash};

/// An account's number, given by the store and never given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub i64);

/// What somebody may do beside what is theirs; each may what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing.
    #[default]
    Member,
    /// Keep order among members.
    Moderator,
    /// Anything.
    Admin,
}

names!(Role { Member = "member", Moderator = "moderator", Admin = "admin" });

impl Role {
    /// The role of that name, or what there are.
    pub fn parse(name: &str) -> Result<Self> {
        let refused = || Error::invalid("role", "must be member, moderator or admin");
        Self::named(name).ok_or_else(refused)
    }
}

/// An account, without what proves whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its number.
    pub id: AccountId,
    /// Its name.
    pub username: Username,
    /// What others see.
    pub nickname: Nickname,
    /// Where its owner may be written to.
    pub email: Option<Email>,
    /// What its owner may do.
    pub role: Role,
    /// Whether one can sign in to it with a password.
    pub has_password: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was banned; nobody signs in to it from then on.
    pub banned_at: Option<Timestamp>,
    /// Rises whenever all its sessions end; a session of an earlier one opens nothing.
    pub epoch: u32,
    /// Its picture. One that was written down before there were any has none.
    #[serde(default)]
    pub picture: Option<PictureId>,
}

impl Account {
    /// [`Error::Forbidden`] if its role is below `least`.
    pub fn check_role(&self, least: Role) -> Result<()> {
        if self.role < least {
            return Err(Error::forbidden("this is for staff"));
        }
        Ok(())
    }
}

/// What proves whose an account is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credential {
    /// What its password becomes; without one it is opened by a provider alone.
    pub password: Option<PasswordHash>,
    /// The code that opens it once, if one was given out.
    pub reset: Option<Reset>,
}

/// A one-time code with which a new password can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// The code's SHA-256.
    pub digest: [u8; 32],
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
}

/// Which accounts, in the order of their names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccountQuery {
    /// Only those whose name starts so.
    pub prefix: String,
    /// Only those after this name (keyset paging).
    pub after: Option<Username>,
    /// At most so many, 1 to 1,000.
    pub limit: usize,
}

/// An account to be made.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// Its name.
    pub username: Username,
    /// What others see.
    pub nickname: Nickname,
    /// Where its owner may be written to.
    pub email: Option<Email>,
    /// What its owner may do.
    pub role: Role,
    /// What its password becomes; without one it is opened by a provider alone.
    pub password: Option<PasswordHash>,
    /// When it is made.
    pub created_at: Timestamp,
}

impl NewAccount {
    /// A member's account that is called by its name, and has no address.
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

/// What is to change about an account; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct AccountChange {
    /// What others see.
    pub nickname: Option<Nickname>,
    /// Where its owner may be written to.
    pub email: Option<Option<Email>>,
    /// What its owner may do.
    pub role: Option<Role>,
    /// When it was banned.
    pub banned_at: Option<Option<Timestamp>>,
    /// What its password becomes.
    pub password: Option<PasswordHash>,
    /// The code that opens it once.
    pub reset: Option<Option<Reset>>,
    /// Which of its sessions end with the change, in the same transaction.
    pub ending: Option<Ending>,
    /// Whether no provider opens it any more, from the same transaction on.
    pub unlinks_all: bool,
    /// Only if the account is at this epoch: what the change rests on was read then.
    pub at_epoch: Option<u32>,
    /// Only if this session of the account opens something when the change happens.
    pub by_session: Option<SessionId>,
    /// Only if this is its owner's role: on it rests who has a say over them.
    pub had_role: Option<Role>,
    /// Its picture.
    pub picture: Option<Option<PictureId>>,
    /// Only if this is its picture: then it is known which one is nobody's any more.
    pub had_picture: Option<Option<PictureId>>,
}
