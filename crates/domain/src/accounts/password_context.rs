//! What a password must not be made of.

use std::iter;

use super::{Account, Username};

/// The name of the product, which is a context word whatever the site's name.
const PRODUCT: &str = "lodge";

/// Names of seasons, with which people meet rules and reminders to change a password.
const SEASONS: [&str; 5] = ["winter", "spring", "summer", "autumn", "fall"];

/// The lengths of context words, in characters. A shorter word is part of many others.
const WORD_CHARS: std::ops::RangeInclusive<usize> = 3..=30;

/// The maximum context words, so that the check of a password is bounded.
const WORDS_MAX: usize = 40;

/// The names around an account; a text that is not known is empty.
#[derive(Debug, Clone, Copy)]
pub struct PasswordContext<'a> {
    /// The name of the site.
    pub site: &'a str,
    /// The username, in lower case.
    pub username: &'a str,
    /// The display name.
    pub nickname: &'a str,
    /// The e-mail address, of which the local part counts.
    pub email: &'a str,
}

impl<'a> From<&'a Username> for PasswordContext<'a> {
    fn from(username: &'a Username) -> Self {
        Self { site: "", username: username.as_str(), nickname: "", email: "" }
    }
}

impl<'a> From<&'a Account> for PasswordContext<'a> {
    fn from(account: &'a Account) -> Self {
        Self {
            nickname: account.nickname.as_str(),
            email: account.email.as_ref().map_or("", super::Email::as_str),
            ..Self::from(&account.username)
        }
    }
}

impl PasswordContext<'_> {
    /// Returns the context words in lower case: each text, and the words in it.
    pub(super) fn words(&self) -> Vec<String> {
        let local_part = self.email.split('@').next().unwrap_or_default();
        let names = [PRODUCT, self.site, self.username, local_part, self.nickname];
        let texts = SEASONS.into_iter().chain(names);
        texts
            .flat_map(|text| iter::once(text).chain(text.split(|c: char| !c.is_alphanumeric())))
            .filter(|word| WORD_CHARS.contains(&word.chars().take(WORD_CHARS.end() + 1).count()))
            .map(str::to_lowercase)
            .take(WORDS_MAX)
            .collect()
    }
}
