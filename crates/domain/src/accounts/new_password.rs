//! Rules for a new password of an account.

use serde::{Deserialize, Serialize};
use zxcvbn::{Entropy, Match, matching::patterns::MatchPattern, zxcvbn};

use super::PasswordContext;
use crate::{Error, Result, passwords::Password};

/// The minimum length, in characters.
const LENGTH_MIN: usize = 8;

/// Longer passwords are not in the list of common ones and are not looked up.
const COMMON_CHARS_MAX: usize = 32;

/// The guesses after which every password on the list of `zxcvbn` is found: it has 30,000, and counts from 1.
const COMMON_GUESSES: u64 = 30_001;

/// The characters that a password of context words must have besides them, and besides years, dates and sequences.
const OTHER_CHARS_MIN: usize = 4;

/// A new password of an account: 8 to 128 characters of any kind, not the username, not a common password, and not made
/// of words that an attacker tries first ([`PasswordContext`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NewPassword(Password);

impl NewPassword {
    /// Parses a password as typed, for an account.
    pub fn parse<'a>(
        field: &'static str,
        typed: String,
        account: impl Into<PasswordContext<'a>>,
    ) -> Result<Self> {
        let context = account.into();
        let length = typed.chars().count();
        if length < LENGTH_MIN {
            return Err(Error::invalid(field, "must be at least 8 characters"));
        }
        if typed.to_lowercase() == context.username {
            return Err(Error::invalid(field, "must not be the username"));
        }
        if length <= COMMON_CHARS_MAX {
            let words = context.words();
            let estimate = zxcvbn(&typed, &words.iter().map(String::as_str).collect::<Vec<_>>());
            if is_made_of(&words, estimate.sequence()) {
                return Err(Error::invalid(
                    field,
                    "is easy to guess: it is made of your names, the name of the site or a season; \
                     choose another one",
                ));
            }
            if is_common(&estimate) {
                return Err(Error::invalid(field, "is too common; choose another one"));
            }
        }
        Ok(Self(Password::parse(field, typed)?))
    }

    /// Returns the bytes of the password.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns the password to hash.
    pub(super) fn into_password(self) -> Password {
        self.0
    }
}

/// Whether the whole text is one of the most common passwords, also with capitals, with digits in place of letters, or
/// reversed; or is guessed after as many tries as they.
fn is_common(estimate: &Entropy) -> bool {
    let is_listed = match estimate.sequence() {
        [whole] => match &whole.pattern {
            MatchPattern::Dictionary(_) | MatchPattern::Sequence(_) => true,
            // Repetitions of one or two characters.
            MatchPattern::Repeat(repeated) => repeated.base_token.chars().count() <= 2,
            _ => false,
        },
        _ => false,
    };
    // A common password may have a better explanation than the list: `killer666` is a word and a repetition.
    is_listed || estimate.guesses() <= COMMON_GUESSES
}

/// Whether a password has context words and little besides. Capitals, digits in place of letters, years, dates,
/// sequences and punctuation do not count.
fn is_made_of(words: &[String], parts: &[Match]) -> bool {
    let is_context = |part: &Match| match &part.pattern {
        MatchPattern::Dictionary(found) => words.contains(&found.matched_word),
        _ => false,
    };
    let others: usize =
        parts.iter().filter(|part| !is_context(part)).map(|part| others(words, part)).sum();
    // A repetition of a word, such as "adaada", has it in its text only.
    let contains_one = |part: &Match| {
        let text = part.token.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    others < OTHER_CHARS_MIN && parts.iter().any(|part| is_context(part) || contains_one(part))
}

/// Returns how many letters and digits of a part an attacker must guess.
fn others(words: &[String], part: &Match) -> usize {
    if let MatchPattern::Regex(_) | MatchPattern::Date(_) | MatchPattern::Sequence(_) = part.pattern
    {
        return 0;
    }
    let mut text = part.token.to_lowercase();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && matches!(part.pattern, MatchPattern::Dictionary(_)) {
        return 0;
    }
    for word in words {
        text = text.replace(word, " ");
    }
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.filter(|run| !is_year(run)).map(|run| run.chars().count()).sum()
}

fn is_year(text: &str) -> bool {
    text.len() == 4
        && (text.starts_with("19") || text.starts_with("20"))
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Username;

    /// Passwords of the list that `zxcvbn` has, with ranks from 1,000 to 27,000.
    const COMMON: [&str; 9] = [
        "highland",
        "macgyver",
        "hibernia",
        "hellomoto",
        "killer666",
        "ryjgjxrf",
        "alabama123",
        "mdmaiwa3",
        "ironcity",
    ];

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
    fn a_password_made_of_context_words_is_refused() {
        let username = Username::parse("ada.lovelace").unwrap();
        let context = PasswordContext {
            site: "Piz Alto Resort",
            nickname: "Countess Of",
            email: "byron1815@example.org",
            ..PasswordContext::from(&username)
        };
        let parse = |typed: &str| NewPassword::parse("password", typed.to_owned(), context);
        for typed in [
            "Winter2026!",
            "summer1999",
            "2026Autumn",
            "w1nter2026",
            "Lodge2026",
            "lodge12345",
            "lovelace1!",
            "Lovelace1815",
            "ada.lovelace1",
            "AdaLovelace",
            "ecalevol42",
            "Countess99!",
            "byron1815",
            "Byron1815!",
            "piz-alto-resort",
            "PizAlto2025",
        ] {
            assert!(parse(typed).is_err(), "{typed}");
        }
        let heidi = Username::parse("heidi").unwrap();
        assert!(NewPassword::parse("password", "heidiheidi-heidi".to_owned(), &heidi).is_err());
        for typed in
            ["a winter in the fog", "lovelace and 9 turtles", "Winter2026 kq0zv", "T4!kq0zv"]
        {
            assert!(parse(typed).is_ok(), "{typed}");
        }
    }

    #[test]
    fn common_passwords_of_every_rank_are_refused() {
        for typed in COMMON {
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
