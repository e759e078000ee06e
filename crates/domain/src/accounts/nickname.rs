//! What others see of a name.

use super::Username;
use crate::{
    Error, Result,
    text::{display_text, is_control, parsed_text, shows_something, turns_direction},
};

/// The longest nickname, in characters.
const LENGTH_MAX: usize = 30;

parsed_text! {
    /// 1 to 30 characters of any script, spaces among them; none that controls a device or turns the
    /// direction of what stands around it, and at least one that can be seen.
    pub struct Nickname(Box<str>);
}
display_text!(Nickname);

impl Nickname {
    /// Takes a nickname as somebody typed it; spaces around it go.
    pub fn parse(typed: &str) -> Result<Self> {
        let refuse = |why: &'static str| Err(Error::invalid("nickname", why));
        let typed = typed.trim();
        if !(1..=LENGTH_MAX).contains(&typed.chars().count()) {
            return refuse("must be 1 to 30 characters");
        }
        if typed.chars().any(|c| is_control(c) || turns_direction(c)) {
            return refuse("may not hold control characters, or any that turn a text's direction");
        }
        if !shows_something(typed) {
            return refuse("must hold something that can be seen");
        }
        Ok(Self(typed.into()))
    }
}

impl From<&Username> for Nickname {
    /// What an account is called that has chosen nothing else.
    fn from(name: &Username) -> Self {
        Self(name.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn any_script_is_taken() {
        for text in ["Ada Lovelace", "김철수", "عمر خيام", "Ωmega ♥", "👩‍💻 Ada", "O'Brien-Łęcki"]
        {
            assert_eq!(Nickname::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Nickname::parse("  Ada ").unwrap().as_str(), "Ada");
        assert!(Nickname::parse(&"é".repeat(30)).is_ok());
    }

    #[test]
    fn what_controls_or_hides_is_refused() {
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
        fn a_nickname_is_its_own_nickname(text in "\\PC{0,40}") {
            if let Ok(name) = Nickname::parse(&text) {
                prop_assert_eq!(Nickname::parse(name.as_str()).ok(), Some(name));
            }
        }
    }
}
