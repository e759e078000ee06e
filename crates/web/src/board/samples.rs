//! Fixtures of tests.

use lodge_domain::{
    accounts::{AccountId, Role},
    board::{PersonId, Profile},
};

/// A member's profile.
pub(super) fn member(number: i64, username: &str, nickname: &str) -> Profile {
    Profile {
        person: PersonId::Account(AccountId(number)),
        username: username.to_owned(),
        nickname: nickname.to_owned(),
        picture: None,
        role: Role::Member,
    }
}
