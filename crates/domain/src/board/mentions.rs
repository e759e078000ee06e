//! Mentions of members in a message.

use std::collections::BTreeSet;

use super::{Body, markup};
use crate::accounts::Username;

/// The most mentions of one message; further ones are plain text.
pub const MENTIONS_MAX: usize = 20;

/// A mention: its place in a text, with the `@`, and the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The username.
    pub username: Username,
}

/// Finds the mentions in a text without code and links: names after an `@` that cannot be part of an address.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('@') {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        if before.is_some_and(|c| is_part(c) || matches!(c, '@' | '/')) {
            continue;
        }
        let rest = text.get(start + 1..).unwrap_or_default();
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default().trim_end_matches(['.', '-', '_']);
        if let Ok(username) = Username::parse(name) {
            found.push(Mention { start, end: start + 1 + name.len(), username });
        }
    }
    found
}

/// The distinct names that a message mentions: not those in code or in a link. Its HTML marks those of members.
pub fn mentioned(body: &Body) -> BTreeSet<Username> {
    // The `@` may be written as an HTML entity.
    let may_name = body.as_str().contains(['@', '&']);
    if may_name { markup::named(body.as_str()) } else { BTreeSet::new() }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mentions_are_told_from_addresses() {
        let names = |text: &str| {
            mentions(text)
                .iter()
                .map(|m| (text[m.start..m.end].to_owned(), m.username.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("@Ada: see @bob-2."),
            [("@Ada".into(), "ada".into()), ("@bob-2".into(), "bob-2".into())]
        );
        assert_eq!(names("(@山田, @山田)").len(), 2);
        for text in ["", "@", "@ ada", "ada@example.org", "@@ada", "x/@ada", "@..."] {
            assert_eq!(names(text), [], "{text:?}");
        }
    }

    #[test]
    fn names_in_code_and_links_are_no_mentions() {
        let names = |text: &str| {
            let body = Body::parse(text).unwrap();
            mentioned(&body).iter().map(Username::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names("@bob, `@ada` and\n- @Ada"), ["ada", "bob"]);
        assert_eq!(names("**@ada** &#64;bob"), ["ada", "bob"]);
        for text in [
            "`@ada`",
            "``a ` @ada``",
            "```\n@ada\n```",
            "~~~\n@ada",
            "a\n\n    @ada",
            "[@ada](https://a.example)",
            "https://a.example/?@ada",
        ] {
            assert_eq!(names(text), Vec::<String>::new(), "{text:?}");
        }
        assert_eq!(names("a \\`@ada`"), ["ada"], "an escaped backtick starts no code");
        let many: Vec<_> = (0..=MENTIONS_MAX).map(|number| format!("@u{number:02}")).collect();
        assert_eq!(names(&many.join(" ")).len(), MENTIONS_MAX);
    }

    proptest! {
        #[test]
        fn a_mention_spans_its_name_in_the_text(text in "[@a-c .:ä-]{0,40}") {
            for mention in mentions(&text) {
                let name = text.get(mention.start..mention.end).unwrap();
                prop_assert_eq!(Username::parse(&name[1..]).ok(), Some(mention.username));
            }
        }
    }
}
