//! What others see of a name.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Username;
use crate::{Error, Result};

/// The longest nickname, in characters.
const LENGTH_MAX: usize = 30;

/// 1 to 30 characters of any script, spaces among them; none that controls a device or turns the
/// direction of what stands around it, and at least one that can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nickname(Box<str>);

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

    /// A nickname that the store has kept.
    pub fn stored(text: String) -> Self {
        Self(text.into())
    }

    /// The nickname as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Those that Unicode calls controls, and the separators of lines and paragraphs.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether anything of a text can be seen.
pub(crate) fn shows_something(text: &str) -> bool {
    !text.chars().all(|c| c.is_whitespace() || is_unseen(c))
}

/// Whether nobody sees a character, nor room where it stands.
pub(crate) fn is_unseen(c: char) -> bool {
    is_control(c) || turns_direction(c) || is_blank(c)
}

/// Unicode's property `Bidi_Control` (UAX #9).
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Those of Unicode's property `Default_Ignorable_Code_Point` that are no controls of direction, and the
/// blank pattern of Braille: nobody sees them.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

impl From<&Username> for Nickname {
    /// What an account is called that has chosen nothing else.
    fn from(name: &Username) -> Self {
        Self(name.as_str().into())
    }
}

impl TryFrom<String> for Nickname {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Nickname> for String {
    fn from(name: Nickname) -> Self {
        name.0.into()
    }
}

impl fmt::Display for Nickname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
