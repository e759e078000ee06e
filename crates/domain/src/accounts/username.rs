//! Usernames.

use crate::{
    Error, Result,
    look_alikes::{mixes_scripts, skeleton},
    text::{display_text, parsed_text},
};
use precis_profiles::{UsernameCaseMapped, precis_core::profile::PrecisFastInvocation};

/// The maximum length of a username, in characters.
const LENGTH_MAX: usize = 30;

/// The maximum length of [`Username::skeleton`], in characters.
pub const SKELETON_CHARS_MAX: usize = 512;

/// The names of staff and of the server, and those that RFC 2142 gives to the operator of a site. Only an administrator
/// creates accounts with them.
const STAFF_NAMES: [&str; 39] = [
    "abuse",
    "admin",
    "administrator",
    "administrators",
    "admins",
    "billing",
    "bot",
    "contact",
    "help",
    "helpdesk",
    "hostmaster",
    "info",
    "lodge",
    "mod",
    "moderation",
    "moderator",
    "moderators",
    "mods",
    "noc",
    "noreply",
    "official",
    "operator",
    "owner",
    "password",
    "postmaster",
    "privacy",
    "root",
    "sales",
    "security",
    "service",
    "staff",
    "superuser",
    "support",
    "sysadmin",
    "sysop",
    "system",
    "team",
    "verified",
    "webmaster",
];

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

    /// Checks that a visitor may create an account with this name: its letters are of one script, or of those that
    /// Chinese, Japanese and Korean mix with Latin, and it looks like no name of the staff. Administrators may use any
    /// name.
    pub fn check_for_visitor(&self) -> Result<()> {
        let refuse = |why: &'static str| Err(Error::invalid("username", why));
        if mixes_scripts(&self.0) {
            return refuse(
                "mixes letters of several scripts, such as Latin and Cyrillic; use letters of one script",
            );
        }
        let plain: String = self.0.chars().filter(|c| !c.is_ascii_punctuation()).collect();
        let seen = skeleton(&plain);
        if STAFF_NAMES.iter().any(|name| skeleton(name) == seen) {
            return refuse(
                "is reserved for the staff of this site, or looks like a reserved name; \
                 choose another one, or ask an administrator to create the account",
            );
        }
        Ok(())
    }

    /// Returns the form that is equal for usernames that look alike, at most [`SKELETON_CHARS_MAX`] characters.
    pub fn skeleton(&self) -> String {
        skeleton(&self.0)
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

    fn for_visitor(typed: &str) -> Result<()> {
        Username::parse(typed).unwrap().check_for_visitor()
    }

    #[test]
    fn a_visitor_cannot_take_a_name_of_the_staff_or_its_look_alike() {
        for name in STAFF_NAMES {
            assert!(for_visitor(name).is_err(), "{name}");
        }
        for name in ["adm1n", "Admin", "adrnin", "r00t", "ad-min", "lodge.", "suрроrt", "ѕуѕор"]
        {
            assert!(for_visitor(name).is_err(), "{name}");
        }
        for name in ["adminah", "supporter", "lodger", "roots", "ada", "-", "...."] {
            assert!(for_visitor(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_visitor_cannot_take_a_name_of_mixed_scripts() {
        for name in ["аlice", "bοb", "Ωmega", "김петр", "山田ωμ"] {
            assert!(for_visitor(name).is_err(), "{name}");
        }
        for name in
            ["пётр-2", "김철수_kim", "山田taro", "ねこcat", "Ωμέγα", "o'brien", "josé", "אבג", "42"]
        {
            assert!(for_visitor(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn usernames_that_look_alike_have_one_skeleton() {
        let skeleton = |name| Username::parse(name).unwrap().skeleton();
        for (one, other) in [
            ("alice", "аӏісе"),
            ("alice", "al1ce"),
            ("alice", "alıce"),
            ("bob", "b0b"),
            ("modern", "modem"),
            ("vvendy", "wendy"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("ada", "adá"), ("ada", "adda"), ("a.da", "a-da"), ("петр", "пётр")]
        {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    #[test]
    fn the_skeleton_of_the_longest_username_fits() {
        let longest = (char::MIN..=char::MAX)
            .filter_map(|c| Username::parse(&c.to_string()).ok())
            .map(|name| name.skeleton().chars().count())
            .max();
        assert!(longest.unwrap() * LENGTH_MAX <= SKELETON_CHARS_MAX, "{longest:?}");
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
