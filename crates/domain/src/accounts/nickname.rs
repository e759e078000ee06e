//! Nicknames, the display names of accounts.

use super::Username;
use crate::{
    Error, Result,
    text::{display_text, is_control, parsed_text, shows_something, turns_direction},
};

/// The maximum length of a nickname, in characters.
const LENGTH_MAX: usize = 30;

parsed_text! {
    /// 1 to 30 characters of any script and spaces; no control characters, no direction controls, and at least one
    /// visible character.
    pub struct Nickname(Box<str>);
}
display_text!(Nickname);

impl Nickname {
    /// Parses a nickname as typed, without surrounding spaces.
    pub fn parse(typed: &str) -> Result<Self> {
        let refuse = |why: &'static str| Err(Error::invalid("nickname", why));
        let typed = typed.trim();
        if !(1..=LENGTH_MAX).contains(&typed.chars().count()) {
            return refuse("must be 1 to 30 characters");
        }
        if typed.chars().any(|c| is_control(c) || turns_direction(c)) {
            return refuse(
                "must not contain control characters or characters that change the text direction",
            );
        }
        if !shows_something(typed) {
            return refuse("must contain at least one visible character");
        }
        Ok(Self(typed.into()))
    }
}

impl From<&Username> for Nickname {
    /// The default nickname of an account.
    fn from(name: &Username) -> Self {
        Self(name.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nicknames_of_any_script_are_accepted() {
        for text in ["Ada Lovelace", "김철수", "عمر خيام", "Ωmega ♥", "👩‍💻 Ada", "O'Brien-Łęcki"]
        {
            assert_eq!(Nickname::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Nickname::parse("  Ada ").unwrap().as_str(), "Ada");
        assert!(Nickname::parse(&"é".repeat(30)).is_ok());
    }

    #[test]
    fn control_and_invisible_characters_are_refused() {
        for text in [
            "",
            "  ",
            "a\nb",
            "a\0",
            "a\u{7f}",
            "a\u{85}b",
            "a\u{2028}b",
            "\u{202e}ada",
            "a\u{2066}b",
            "\u{200f}a",
            "\u{200b}",
            "\u{3164}",
            "\u{2800} \u{feff}",
            &"a".repeat(31),
        ] {
            assert!(Nickname::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_a_nickname_again_does_not_change_it(text in "\\PC{0,40}") {
            if let Ok(name) = Nickname::parse(&text) {
                prop_assert_eq!(Nickname::parse(name.as_str()).ok(), Some(name));
            }
        }
    }
}
