//! The form of nickname and address.

use lodge_domain::accounts::{Account, Edit, Email, Nickname};
use serde::Deserialize;

use crate::pages::{errors::FormErrors, forms::given};

/// What was typed, each field as text.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProfileForm {
    pub(super) nickname: String,
    pub(super) email: String,
}

impl ProfileForm {
    /// What the form starts with.
    pub(super) fn of(account: &Account) -> Self {
        Self {
            nickname: account.nickname.to_string(),
            email: account
                .email
                .as_ref()
                .map(|email| email.as_str().to_owned())
                .unwrap_or_default(),
        }
    }

    /// The edit that it is, or what is wrong with it.
    pub(super) fn parse(&self) -> Result<Edit, FormErrors> {
        let mut errors = FormErrors::default();
        let nickname = errors.take(Nickname::parse(&self.nickname));
        let email = errors.take(given(&self.email).map(Email::parse).transpose());
        match (nickname, email) {
            (Some(nickname), Some(email)) => {
                Ok(Edit { nickname: Some(nickname), email: Some(email) })
            }
            _ => Err(errors),
        }
    }
}
