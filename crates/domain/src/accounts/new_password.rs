//! Rules for a new password of an account.

use serde::{Deserialize, Serialize};
use zxcvbn::{matching::patterns::MatchPattern, zxcvbn};

use super::Username;
use crate::{Error, Result, passwords::Password};

/// The minimum length, in characters.
const LENGTH_MIN: usize = 8;

/// Longer passwords are not in the list of common ones and are not looked up.
const COMMON_CHARS_MAX: usize = 32;

/// A new password of an account: 8 to 128 characters of any kind, not the username and not a common password.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NewPassword(Password);

impl NewPassword {
    /// Parses a password as typed, for the account `username`.
    pub fn parse(field: &'static str, typed: String, username: &Username) -> Result<Self> {
        let length = typed.chars().count();
        if length < LENGTH_MIN {
            return Err(Error::invalid(field, "must be at least 8 characters"));
        }
        if typed.to_lowercase() == username.as_str() {
            return Err(Error::invalid(field, "must not be the username"));
        }
        if length <= COMMON_CHARS_MAX && is_common(&typed) {
            return Err(Error::invalid(field, "is too common; choose another one"));
        }
        Ok(Self(Password::parse(field, typed)?))
    }

    /// Returns the password to hash.
    pub fn into_password(self) -> Password {
        self.0
    }
}

/// Whether the whole text is one of the 30,000 most common passwords, also with capitals, with digits in place of
/// letters, or reversed.
fn is_common(typed: &str) -> bool {
    let estimate = zxcvbn(typed, &[]);
    match estimate.sequence() {
        [whole] => match &whole.pattern {
            MatchPattern::Dictionary(_) | MatchPattern::Sequence(_) => true,
            // Repetitions of one or two characters.
            MatchPattern::Repeat(repeated) => repeated.base_token.chars().count() <= 2,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> Result<NewPassword> {
        NewPassword::parse("password", typed.to_owned(), &Username::parse("ada.lovelace").unwrap())
    }

    #[test]
    fn a_common_password_is_refused() {
        for typed in [
            "password",
            "Password",
            "p4ssw0rd",
            "12345678",
            "iloveyou",
            "qwertyuiop",
            "aaaaaaaa",
            "abcdefgh",
            "ADA.Lovelace",
        ] {
            assert!(parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn passwords_of_8_to_128_characters_of_any_kind_are_accepted() {
        for typed in
            ["correct horse", "пароль-и-ещё", "🐢🐇🦊🐻🐼🐨🐯🦁", "a b\tc\u{0}d\ne", "T4!kq0zv"]
        {
            assert!(parse(typed).is_ok(), "{typed}");
        }
        assert!(parse("T4!kq0z").is_err());
        assert!(parse(&"é~".repeat(64)).is_ok());
        assert!(parse(&"é~".repeat(65)).is_err());
    }
}
