//! Who writes: people with accounts, and bots.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    accounts::{Account, AccountId, Role},
    keys::{ApiKey, KeyId},
    pictures::PictureId,
};

/// What the token of a bot starts with.
pub const BOT_PREFIX: &str = "lodge_bot_";

/// Somebody who can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonId {
    /// Somebody with an account.
    Account(AccountId),
    /// A program with a key.
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

    /// Whose number it is.
    pub fn numbered(number: i64) -> Self {
        if number < 0 { Self::Bot(KeyId(-number)) } else { Self::Account(AccountId(number)) }
    }
}

/// What others see of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Who it is.
    pub person: PersonId,
    /// The name of the account, or of the bot; empty if the account is deleted.
    pub username: String,
    /// What they are called.
    pub nickname: String,
    /// Their picture.
    pub picture: Option<PictureId>,
    /// Whether they keep order.
    pub role: Role,
}

impl Profile {
    /// Of somebody with an account.
    pub fn of(account: &Account) -> Self {
        Self {
            person: PersonId::Account(account.id),
            username: account.username.as_str().to_owned(),
            nickname: account.nickname.as_str().to_owned(),
            picture: account.picture,
            role: account.role,
        }
    }

    /// Of a bot.
    pub fn of_bot(key: &ApiKey) -> Self {
        Self {
            person: PersonId::Bot(key.id),
            username: key.name.clone(),
            nickname: key.name.clone(),
            picture: None,
            role: Role::Member,
        }
    }

    /// Whether it is of a program.
    pub fn is_bot(&self) -> bool {
        matches!(self.person, PersonId::Bot(_))
    }
}

#[cfg(test)]
impl Profile {
    /// The profile of a member with the account of that number.
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

/// Somebody who does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Who.
    pub profile: Profile,
    /// What they may do beside what is theirs.
    pub role: Role,
}

impl Actor {
    /// Somebody who is signed in.
    pub fn of(account: &Account) -> Self {
        Self { profile: Profile::of(account), role: account.role }
    }

    /// A bot.
    pub fn of_bot(key: &ApiKey) -> Self {
        Self { profile: Profile::of_bot(key), role: Role::Member }
    }

    /// Who.
    pub fn id(&self) -> PersonId {
        self.profile.person
    }

    /// Whether they keep order.
    pub fn is_staff(&self) -> bool {
        self.role >= Role::Moderator
    }

    /// [`Error::Forbidden`] unless they are an admin.
    pub fn check_admin(&self) -> Result<()> {
        if self.role >= Role::Admin {
            return Ok(());
        }
        Err(Error::forbidden("this is for admins"))
    }

    /// [`Error::Forbidden`] unless they keep order.
    pub fn check_staff(&self) -> Result<()> {
        if self.is_staff() {
            return Ok(());
        }
        Err(Error::forbidden("this is for moderators and admins"))
    }
}
