//! What people write.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    text::{parsed_text, shows_something},
};

/// The longest message, in characters.
pub const BODY_CHARS_MAX: usize = 2_000;

/// The longest id that a client gives to a message, in bytes.
const CLIENT_ID_MAX: usize = 64;

parsed_text! {
    /// The text of a message as it was typed: 1 to 2,000 characters, something to be seen among them, and no controls but
    /// ends of lines and tabs; nothing at all only where a picture says everything.
    #[derive(derive_more::Debug)]
    #[debug("Body({} bytes)", self.0.len())]
    pub struct Body(Box<str>);
}

impl Body {
    /// Takes a text as somebody typed it. Browsers send ends of lines as two characters; kept is one.
    pub fn parse(typed: &str) -> Result<Self> {
        let body = Self::beside_picture(typed)?;
        if body.is_empty() {
            return Err(Error::invalid("body", "is empty"));
        }
        Ok(body)
    }

    /// The same beside a picture, where it may say nothing.
    pub fn beside_picture(typed: &str) -> Result<Self> {
        let text = typed.replace("\r\n", "\n").replace('\r', "\n");
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if !text.is_empty() && !shows_something(text) {
            return Err(Error::invalid("body", "holds nothing that can be seen"));
        }
        let length = text.chars().count();
        if length > BODY_CHARS_MAX {
            let reason = format!("has {length} characters; at most {BODY_CHARS_MAX} fit");
            return Err(Error::invalid("body", reason));
        }
        if text.chars().any(is_unwritable) {
            return Err(Error::invalid("body", "holds a control character"));
        }
        Ok(Self(text.into()))
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Controls, and what turns the direction of the text around it: that would reach beyond the message.
fn is_unwritable(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

parsed_text! {
    /// What a message's author calls it before it is first sent: 1 to 64 visible ASCII characters. An author gives none
    /// twice, for ever.
    #[derive(Debug)]
    pub struct ClientId(Box<str>);
}

impl ClientId {
    /// Takes one as the client says it.
    pub fn parse(text: &str) -> Result<Self> {
        if (1..=CLIENT_ID_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(text.into()));
        }
        Err(Error::invalid(
            "client_id",
            "must be 1 to 64 visible ASCII characters, made anew for each message",
        ))
    }
}

/// A sign under a message, one of a few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reaction(u8);

impl Reaction {
    /// All of them, in the order in which they are shown.
    pub const SIGNS: [&str; 8] = ["👍", "❤️", "😂", "🎉", "😮", "😢", "👀", "⛷️"];

    /// The one of that sign; some write it without the mark that asks for colour.
    pub fn parse(sign: &str) -> Result<Self> {
        let plain = |sign: &str| sign.trim().trim_end_matches('\u{fe0f}').to_owned();
        let found = Self::SIGNS.iter().position(|known| plain(known) == plain(sign));
        found.and_then(|place| u8::try_from(place).ok()).map(Self).ok_or_else(|| {
            Error::invalid("reaction", format!("must be one of {}", Self::SIGNS.join(" ")))
        })
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).map(Self).take(Self::SIGNS.len())
    }

    /// Its sign.
    pub fn sign(self) -> &'static str {
        Self::SIGNS.get(usize::from(self.0)).copied().unwrap_or_default()
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
        reaction.sign().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_was_typed_without_the_rim() {
        assert_eq!(Body::parse("  a\r\nb\rc \n").unwrap().as_str(), "a\nb\nc");
        assert!(Body::parse(&"ä".repeat(BODY_CHARS_MAX)).is_ok());
        let long = "a".repeat(BODY_CHARS_MAX + 1);
        for text in ["", " \n\t", "\u{feff}", "a\0b", "a\u{7f}", "a\u{1b}[2J", "a\u{202e}b", &long]
        {
            assert!(Body::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_body_shows_something() {
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
    fn only_beside_a_picture_a_body_may_be_empty() {
        assert!(Body::beside_picture(" \n").unwrap().is_empty());
        assert_eq!(Body::beside_picture(" a ").unwrap(), Body::parse("a").unwrap());
        let long = "a".repeat(BODY_CHARS_MAX + 1);
        assert!(Body::beside_picture(&long).is_err() && Body::beside_picture("a\0").is_err());
    }

    #[test]
    fn a_clients_id_is_visible() {
        assert!(ClientId::parse("0f1e-:!~").is_ok());
        for text in ["", "a b", "a\n", "ä", &"a".repeat(65)] {
            assert!(ClientId::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_reaction_is_found_by_its_sign() {
        for (reaction, sign) in Reaction::all().zip(Reaction::SIGNS) {
            assert_eq!(reaction.sign(), sign);
            assert_eq!(Reaction::parse(sign).unwrap(), reaction);
            assert_eq!(Reaction::parse(sign.trim_end_matches('\u{fe0f}')).unwrap(), reaction);
        }
        assert!(Reaction::parse("<b>").is_err() && Reaction::parse("").is_err());
    }
}
