//! What may become an account's password.

use serde::{Deserialize, Serialize};
use zxcvbn::{matching::patterns::MatchPattern, zxcvbn};

use super::Username;
use crate::{Error, Result, passwords::Password};

/// The fewest characters.
const LENGTH_MIN: usize = 8;

/// Longer ones are not on the list of common passwords, and are not looked for.
const COMMON_CHARS_MAX: usize = 32;

/// A password that somebody wants for an account: 8 to 128 characters of any kind, neither the account's
/// name nor one of those that are tried first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NewPassword(Password);

impl NewPassword {
    /// Takes a password as typed, for the account of that name.
    pub fn parse(field: &'static str, typed: String, username: &Username) -> Result<Self> {
        let length = typed.chars().count();
        if length < LENGTH_MIN {
            return Err(Error::invalid(field, "must be at least 8 characters"));
        }
        if typed.to_lowercase() == username.as_str() {
            return Err(Error::invalid(field, "must not be the name"));
        }
        if length <= COMMON_CHARS_MAX && is_common(&typed) {
            return Err(Error::invalid(field, "is one of the passwords that are tried first"));
        }
        Ok(Self(Password::parse(field, typed)?))
    }

    /// As it is hashed.
    pub fn into_password(self) -> Password {
        self.0
    }
}

/// Whether the whole of it is on the list of the 30,000 most common passwords, as it is there, or with
/// capitals or digits in the place of letters, or backwards.
fn is_common(typed: &str) -> bool {
    let estimate = zxcvbn(typed, &[]);
    match estimate.sequence() {
        [whole] => match &whole.pattern {
            MatchPattern::Dictionary(_) | MatchPattern::Sequence(_) => true,
            // The same again and again.
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
    fn any_characters_are_taken_from_8_to_128() {
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
