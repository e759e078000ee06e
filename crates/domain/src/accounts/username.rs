//! Usernames.

use crate::{
    Error, Result,
    text::{display_text, parsed_text},
};
use precis_profiles::{UsernameCaseMapped, precis_core::profile::PrecisFastInvocation};

/// The maximum length of a username, in characters.
const LENGTH_MAX: usize = 30;

/// The maximum passes of the profile's rules, which are applied until the text is stable (RFC 8264, section 7).
const ROUNDS_MAX: usize = 4;

parsed_text! {
    /// 1 to 30 characters in the form of the profile `UsernameCaseMapped` of RFC 8265: lower case, full-width
    /// letters made narrow, normalised, no spaces. Two names are equal if these forms are.
    pub struct Username(Box<str>);
}
display_text!(Username);

impl Username {
    /// Parses a username as typed.
    pub fn parse(typed: &str) -> Result<Self> {
        let refuse = |why: &'static str| Err(Error::invalid("username", why));
        let typed = typed.trim();
        if typed.is_empty() {
            return refuse("is empty; it must be 1 to 30 characters");
        }
        // Normalisation makes one character of three at most, so this only bounds the work.
        if typed.chars().count() > 4 * LENGTH_MAX {
            return refuse("is too long; it must be 1 to 30 characters");
        }
        let Some(name) = enforced(typed) else {
            return refuse(
                "may contain letters and digits of any script and ASCII symbols, but no spaces, \
                 and no mix of left-to-right and right-to-left letters",
            );
        };
        // As path segments of a URL these have another meaning.
        if matches!(&*name, "." | "..") {
            return refuse("must not be \".\" or \"..\"");
        }
        if name.chars().count() > LENGTH_MAX {
            return refuse("is too long; it must be 1 to 30 characters");
        }
        Ok(Self(name.into()))
    }

    /// Returns the normalised form of a typed prefix; a text that no username can begin with is returned unchanged.
    pub fn prefix(typed: &str) -> String {
        let typed = typed.trim();
        enforced(typed).unwrap_or_else(|| typed.to_owned())
    }
}

/// Applies the profile; `None` if the text is no valid username.
fn enforced(typed: &str) -> Option<String> {
    let mut name = typed.to_owned();
    for _ in 0..ROUNDS_MAX {
        let next = UsernameCaseMapped::enforce(name.as_str()).ok()?.into_owned();
        if next == name {
            return Some(name);
        }
        name = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_differ_only_in_case_width_or_composition_are_equal() {
        for (one, other) in [
            ("Ada", "ada"),
            ("ＡＤＡ", "ada"),
            ("\u{c4}rzte", "a\u{308}rzte"),
            ("ÉCOLE", "e\u{301}cole"),
            (" ada ", "ada"),
        ] {
            assert_eq!(Username::parse(one).unwrap(), Username::parse(other).unwrap(), "{one}");
        }
        assert_ne!(Username::parse("ada").unwrap(), Username::parse("аdа").unwrap(), "Cyrillic");
    }

    #[test]
    fn invalid_usernames_are_refused() {
        let long = "a".repeat(31);
        for text in ["", " ", ".", "..", "a b", "a\tb", "a\0b", "a\u{202e}b", "a\u{200b}b", &long] {
            assert!(Username::parse(text).is_err(), "{text:?}");
        }
        assert!(Username::parse(&"a".repeat(30)).is_ok());
    }

    #[test]
    fn usernames_of_many_scripts_are_accepted() {
        for text in ["o'brien", "a.b-c_d", "juliet@example.com", "김철수", "Ωmega", "אבג", "山田"]
        {
            assert!(Username::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_is_normalised_like_a_username() {
        for (typed, prefix) in [
            ("", ""),
            (" Ad ", "ad"),
            ("ＡＤ", "ad"),
            ("A\u{308}r", "\u{e4}r"),
            (".", "."),
            ("a b", "a b"),
        ] {
            assert_eq!(Username::prefix(typed), prefix, "{typed:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_a_username_again_does_not_change_it(text in "\\PC{0,70}") {
            if let Ok(name) = Username::parse(&text) {
                prop_assert!((1..=LENGTH_MAX).contains(&name.as_str().chars().count()));
                prop_assert_eq!(Username::parse(name.as_str()).ok(), Some(name));
            }
        }
    }
}
