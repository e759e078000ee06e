//! Newtypes over parsed text, and classes of control and invisible characters.

/// Defines newtypes over a text that their `parse` accepted. They serialize as that text, and deserializing parses
/// it again.
macro_rules! parsed_text {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident(Box<str>);)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(derive_more::Into, serde::Serialize, serde::Deserialize)]
        #[into(String)]
        #[serde(try_from = "String", into = "String")]
        $visibility struct $name(Box<str>);

        impl $name {
            /// Creates a value from a store, parsed at the time by the rules and Unicode version of then.
            pub fn stored(text: String) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Error;
            fn try_from(text: String) -> $crate::Result<Self> {
                Self::parse(&text)
            }
        }
    )+};
}

/// Implements `Display` and `Debug` of a text newtype as those of its text.
macro_rules! display_text {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

pub(crate) use {display_text, parsed_text};

/// Whether a text is 1 to 128 printable ASCII characters, as an `Idempotency-Key` or the id of a ride event.
pub(crate) fn is_key(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| (0x20..0x7f).contains(&b))
}

/// Whether a character is a Unicode control, or a line or paragraph separator.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a text contains at least one visible character.
pub(crate) fn shows_something(text: &str) -> bool {
    !text.chars().all(|c| c.is_whitespace() || is_unseen(c))
}

/// Whether a character is invisible and takes no space.
pub(crate) fn is_unseen(c: char) -> bool {
    is_control(c) || turns_direction(c) || is_blank(c)
}

/// Unicode's property `Bidi_Control` (UAX #9).
pub(crate) fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is invisible: Unicode's property `Default_Ignorable_Code_Point` without the direction
/// controls, and the blank Braille pattern.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}
