//! The text of a message, client ids and reactions.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    text::{parsed_text, shows_something},
};

/// The longest message, in characters.
pub const BODY_CHARS_MAX: usize = 2_000;

/// The longest client id, in bytes.
const CLIENT_ID_MAX: usize = 64;

parsed_text! {
    /// The text of a message as it was typed: 1 to 2,000 characters, at least one of them visible, with no control
    /// characters but line feeds and tabs. Only a message with a picture may have an empty text.
    #[derive(derive_more::Debug)]
    #[debug("Body({} bytes)", self.0.len())]
    pub struct Body(Box<str>);
}

impl Body {
    /// Parses a typed text. Line ends, which browsers send as CRLF, become LF; surrounding space is removed.
    pub fn parse(typed: &str) -> Result<Self> {
        let body = Self::parse_with_picture(typed)?;
        if body.is_empty() {
            return Err(Error::invalid("body", "is empty"));
        }
        Ok(body)
    }

    /// Parses the text of a message with a picture, which may be empty.
    pub fn parse_with_picture(typed: &str) -> Result<Self> {
        let text = typed.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if !text.is_empty() && !shows_something(text) {
            return Err(Error::invalid("body", "has no visible characters"));
        }
        let length = text.chars().count();
        if length > BODY_CHARS_MAX {
            let reason = format!("must be at most {BODY_CHARS_MAX} characters, not {length}");
            return Err(Error::invalid("body", reason));
        }
        if text.chars().any(is_unwritable) {
            return Err(Error::invalid("body", "must not contain control characters"));
        }
        Ok(Self(text.into()))
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether `c` is a control character, or a bidirectional control, which would act beyond the message.
fn is_unwritable(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

parsed_text! {
    /// The id that an author's client gives a message before it is first sent: 1 to 64 visible ASCII characters, unique
    /// for ever among the messages of that author.
    #[derive(Debug)]
    pub struct ClientId(Box<str>);
}

impl ClientId {
    /// Parses a client id.
    pub fn parse(text: &str) -> Result<Self> {
        if (1..=CLIENT_ID_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(text.into()));
        }
        Err(Error::invalid(
            "client_id",
            "must be 1 to 64 visible ASCII characters, unique to the message",
        ))
    }
}

/// A reaction to a message: one of a fixed set of emoji.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reaction(u8);

impl Reaction {
    /// The emoji, in the order in which they are shown.
    pub const EMOJI: [&str; 8] = ["👍", "❤️", "😂", "🎉", "😮", "😢", "👀", "⛷️"];

    /// Finds the reaction of an emoji, with or without the variation selector U+FE0F.
    pub fn parse(sign: &str) -> Result<Self> {
        let plain = |sign: &str| sign.trim().trim_end_matches('\u{fe0f}').to_owned();
        let found = Self::EMOJI.iter().position(|known| plain(known) == plain(sign));
        found.and_then(|place| u8::try_from(place).ok()).map(Self).ok_or_else(|| {
            Error::invalid("reaction", format!("must be one of {}", Self::EMOJI.join(" ")))
        })
    }

    /// All reactions, in the order of [`SIGNS`](Self::EMOJI).
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).map(Self).take(Self::EMOJI.len())
    }

    /// The emoji.
    pub fn emoji(self) -> &'static str {
        Self::EMOJI.get(usize::from(self.0)).copied().unwrap_or_default()
    }
}

impl TryFrom<String> for Reaction {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Reaction> for String {
    fn from(reaction: Reaction) -> Self {
        reaction.emoji().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_trimmed_and_has_unix_line_ends() {
        assert_eq!(Body::parse("  a\r\nb\rc \n").unwrap().as_str(), "a\nb\nc");
        assert!(Body::parse(&"ä".repeat(BODY_CHARS_MAX)).is_ok());
        let long = "a".repeat(BODY_CHARS_MAX + 1);
        for text in ["", " \n\t", "\u{feff}", "a\0b", "a\u{7f}", "a\u{1b}[2J", "a\u{202e}b", &long]
        {
            assert!(Body::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_body_has_visible_text() {
        for text in [
            "\u{200b}",
            "\u{feff}\u{200b}\n\u{2060}",
            "\u{ad}",
            "\u{3164}",
            "\u{2800} \u{200d}",
            "\u{fe0f}",
            "\u{200e}",
            "\u{61c}",
            "\u{e0041}",
        ] {
            assert!(Body::parse(text).is_err(), "{text:?}");
        }
        for text in ["a\u{200b}", "👩\u{200d}💻", "❤\u{fe0f}", "می\u{200c}خواهم"] {
            assert_eq!(Body::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn only_with_a_picture_may_a_body_be_empty() {
        assert!(Body::parse_with_picture(" \n").unwrap().is_empty());
        assert_eq!(Body::parse_with_picture(" a ").unwrap(), Body::parse("a").unwrap());
        let long = "a".repeat(BODY_CHARS_MAX + 1);
        assert!(
            Body::parse_with_picture(&long).is_err() && Body::parse_with_picture("a\0").is_err()
        );
    }

    #[test]
    fn a_client_id_is_visible_ascii() {
        assert!(ClientId::parse("0f1e-:!~").is_ok());
        for text in ["", "a b", "a\n", "ä", &"a".repeat(65)] {
            assert!(ClientId::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_reaction_is_found_by_its_emoji() {
        for (reaction, sign) in Reaction::all().zip(Reaction::EMOJI) {
            assert_eq!(reaction.emoji(), sign);
            assert_eq!(Reaction::parse(sign).unwrap(), reaction);
            assert_eq!(Reaction::parse(sign.trim_end_matches('\u{fe0f}')).unwrap(), reaction);
        }
        assert!(Reaction::parse("<b>").is_err() && Reaction::parse("").is_err());
    }
}
