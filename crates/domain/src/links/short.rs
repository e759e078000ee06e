//! The short: the path segment that names a link.

use std::borrow::Borrow;

use crate::{
    Error, Random, Result,
    look_alikes::skeleton,
    text::{display_text, parsed_text},
};

/// The reserved names, used by present or future routes, whichever apps are on.
pub const RESERVED: [&str; 20] = [
    "api",
    "assets",
    "login",
    "logout",
    "signup",
    "account",
    "admin",
    "board",
    "links",
    "new",
    "status",
    "resorts",
    "skiers",
    "rides",
    "users",
    "health",
    "metrics",
    "robots.txt",
    "favicon.ico",
    ".well-known",
];

/// The maximum length of a short, in characters.
pub const LENGTH_MAX: usize = 128;

/// The length of a generated short: there are 57⁷ ≈ 2 × 10¹² of them.
const GENERATED_LENGTH: usize = 7;

/// The alphabet of generated shorts, without the easily confused 0 O 1 I l.
const ALPHABET: &[u8; 57] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

parsed_text! {
    /// 1 to 128 of the characters that a URL's path carries unencoded (`A–Z a–z 0–9 - _ . ~`, RFC 3986
    /// "unreserved"), case-sensitive; no leading or trailing dot (`..` is a path of its own, and programs that find
    /// links in text drop a last dot), no reserved name or its look-alike.
    pub struct Short(Box<str>);
}
display_text!(Short);

impl Short {
    /// Parses a short as given by a client; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &'static str| Err(Error::invalid("short", why));
        if text.is_empty() {
            return refuse("is empty; it must be 1 to 128 characters");
        }
        if text.len() > LENGTH_MAX {
            return refuse("is too long; it must be 1 to 128 characters");
        }
        if !text.bytes().all(is_unreserved) {
            return refuse(
                "may contain only the letters A–Z and a–z, digits, '-', '_', '.' and '~'",
            );
        }
        if is_reserved(text) {
            return refuse("is a reserved name, or looks like one");
        }
        if text.starts_with('.') || text.ends_with('.') {
            return refuse("may not start or end with a dot");
        }
        Ok(Self(text.into()))
    }

    /// Generates a random short.
    pub fn generate(random: &dyn Random) -> Self {
        loop {
            let text: String =
                std::iter::repeat_with(|| letter(random)).take(GENERATED_LENGTH).collect();
            if let Ok(short) = Self::parse(&text) {
                return short;
            }
        }
    }
}

/// Draws one letter uniformly: bytes past the last multiple of 57 are drawn again.
fn letter(random: &dyn Random) -> char {
    let mut byte = [0];
    loop {
        random.fill(&mut byte);
        if byte[0] < 228 {
            return char::from(ALPHABET[usize::from(byte[0] % 57)]);
        }
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
}

/// Whether `text` is a reserved name, or looks like one.
fn is_reserved(text: &str) -> bool {
    let seen = skeleton(text);
    RESERVED.iter().any(|name| skeleton(name) == seen)
}

impl Borrow<str> for Short {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::OsRandom;

    #[test]
    fn reserved_names_and_their_look_alikes_are_refused() {
        for name in RESERVED {
            assert!(Short::parse(name).is_err(), "{name}");
            assert!(Short::parse(&name.to_uppercase()).is_err(), "{name}");
        }
        for name in ["1inks", "L0gin", "adrnin", "ADM1N", "l1nks", "nevv", "аdmin", "ａｄｍｉｎ"]
        {
            assert!(Short::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn texts_that_are_no_path_segment_are_refused() {
        for text in [
            "",
            "a/b",
            "a b",
            "a+",
            "%61",
            "ü",
            ".",
            "..",
            "a.",
            ".a",
            "a?b",
            "a#b",
            "a\nb",
            &"a".repeat(300),
        ] {
            assert!(Short::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn shorts_of_up_to_128_unreserved_characters_are_accepted() {
        for text in ["gg", "asdf", "arnold", "dsh", "a.b", "~x", "A-_9", &"a".repeat(128)] {
            assert!(Short::parse(text).is_ok(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_changes_a_short(text in "\\PC{0,140}") {
            if let Ok(short) = Short::parse(&text) {
                prop_assert_eq!(short.as_str(), text);
            }
        }

        #[test]
        fn generated_shorts_are_valid(_ in 0..200u8) {
            let short = Short::generate(&OsRandom);
            prop_assert_eq!(Short::parse(short.as_str()).ok(), Some(short));
        }
    }
}
