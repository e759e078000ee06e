//! Members of the board: accounts and bots.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    accounts::{Account, AccountId, Role},
    keys::{ApiKey, KeyId},
    pictures::PictureId,
};

/// The prefix of a bot's token.
pub const BOT_PREFIX: &str = "lodge_bot_";

/// The identity of a member of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonId {
    /// A user account.
    Account(AccountId),
    /// A bot: a program with an API key.
    Bot(KeyId),
}

impl PersonId {
    /// One number for both, for a store: accounts count up from 1, bots down from -1.
    pub fn number(self) -> i64 {
        match self {
            Self::Account(account) => account.0,
            Self::Bot(bot) => -bot.0,
        }
    }

    /// The inverse of [`number`](Self::number).
    pub fn numbered(number: i64) -> Self {
        if number < 0 { Self::Bot(KeyId(-number)) } else { Self::Account(AccountId(number)) }
    }
}

/// The public part of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The account or bot.
    pub person: PersonId,
    /// The name of the account or bot; empty if the account was deleted.
    pub username: String,
    /// The display name; empty if the account was deleted.
    pub nickname: String,
    /// The avatar.
    pub picture: Option<PictureId>,
    /// The account's role.
    pub role: Role,
}

impl Profile {
    /// The profile of an account.
    pub fn of(account: &Account) -> Self {
        Self {
            person: PersonId::Account(account.id),
            username: account.username.as_str().to_owned(),
            nickname: account.nickname.as_str().to_owned(),
            picture: account.picture,
            role: account.role,
        }
    }

    /// The profile of a bot.
    pub fn of_bot(key: &ApiKey) -> Self {
        Self {
            person: PersonId::Bot(key.id),
            username: key.name.clone(),
            nickname: key.name.clone(),
            picture: None,
            role: Role::Member,
        }
    }

    /// Whether the profile is a bot's.
    pub fn is_bot(&self) -> bool {
        matches!(self.person, PersonId::Bot(_))
    }
}

#[cfg(test)]
impl Profile {
    /// The profile of a member with this account number.
    pub(super) fn of_member(number: i64) -> Self {
        Self {
            person: PersonId::Account(AccountId(number)),
            username: format!("p{number}"),
            nickname: format!("P{number}"),
            picture: None,
            role: Role::Member,
        }
    }
}

/// An authenticated caller of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The caller's profile.
    pub profile: Profile,
    /// The caller's role, which decides what they may moderate.
    pub role: Role,
}

impl Actor {
    /// The caller who is signed in to this account.
    pub fn of(account: &Account) -> Self {
        Self { profile: Profile::of(account), role: account.role }
    }

    /// A bot as the caller; its role is always member.
    pub fn of_bot(key: &ApiKey) -> Self {
        Self { profile: Profile::of_bot(key), role: Role::Member }
    }

    /// The caller's identity.
    pub fn id(&self) -> PersonId {
        self.profile.person
    }

    /// Whether the caller is a moderator or an admin.
    pub fn is_staff(&self) -> bool {
        self.role >= Role::Moderator
    }

    /// Returns [`Error::Forbidden`] unless the caller is an admin.
    pub fn check_admin(&self) -> Result<()> {
        if self.role >= Role::Admin {
            return Ok(());
        }
        Err(Error::forbidden("only admins may do this"))
    }

    /// Returns [`Error::Forbidden`] unless the caller is a moderator or an admin.
    pub fn check_staff(&self) -> Result<()> {
        if self.is_staff() {
            return Ok(());
        }
        Err(Error::forbidden("only moderators and admins may do this"))
    }
}
