//! The words of a search for links.

use lodge_domain::{Error, links::Link};
use memchr::memmem::Finder;
use rusqlite::Connection;

use crate::failure::Failure;

/// Words in a search at most.
const WORDS_MAX: usize = 8;

/// Characters in a search at most.
const LENGTH_MAX: usize = 256;

/// The length of the parts of words that the index has, in characters.
const TRIGRAM: usize = 3;

/// Trigrams that are looked up in the index at most. Each costs a walk over the links that contain it.
const TRIGRAMS_MAX: usize = 12;

/// Matches in the index, of all owners, above which a scan of one owner's links is cheaper.
const RARE_MATCHES_MAX: i64 = 5_000;

/// Words that must all occur in a link's short, target or tags, ignoring case.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// For the index, which ignores case by tables of its own.
    typed: Vec<String>,
    /// In lower case, to compare with links.
    lower: Vec<Finder<'static>>,
}

/// The plan of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Searches the index for links that have the words' trigrams, then filters the matches.
    Index,
    /// Scans the owner's links and filters each.
    Scan,
}

impl Words {
    /// Splits a search at white space and control characters.
    pub(crate) fn parse(search: &str) -> Result<Self, Error> {
        let typed: Vec<String> = search
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if typed.len() > WORDS_MAX || search.chars().count() > LENGTH_MAX {
            return Err(Error::invalid(
                "search",
                format!("must be at most {WORDS_MAX} words and {LENGTH_MAX} characters"),
            ));
        }
        let finder = |word: &String| Finder::new(&lower(word)).into_owned();
        let lower = typed.iter().map(finder).collect();
        Ok(Self { typed, lower })
    }

    /// Returns the cheaper plan.
    pub(crate) fn plan(&self, connection: &Connection) -> Result<Plan, Failure> {
        if self.trigrams().is_empty() {
            return Ok(Plan::Scan);
        }
        let sql =
            "SELECT count(*) FROM (SELECT 1 FROM link_search WHERE link_search MATCH ?1 LIMIT ?2)";
        let values = (self.matching(), RARE_MATCHES_MAX + 1);
        let matches: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        Ok(if matches > RARE_MATCHES_MAX { Plan::Scan } else { Plan::Index })
    }

    /// Returns the trigrams to look up as an FTS5 query of quoted strings, in which only `"` is special. They are looked
    /// up one by one and not as phrases: comparing the positions of the trigrams of a long repetition takes seconds.
    pub(crate) fn matching(&self) -> String {
        let quoted = |trigram: &String| format!("\"{}\"", trigram.replace('"', "\"\""));
        self.trigrams().iter().map(quoted).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns different trigrams that together cover the words, or their beginnings if the words are long.
    fn trigrams(&self) -> Vec<String> {
        let mut trigrams = Vec::new();
        for word in &self.typed {
            let chars: Vec<char> = word.chars().collect();
            let covering = chars.windows(TRIGRAM).step_by(TRIGRAM);
            for trigram in covering.chain(chars.windows(TRIGRAM).last()) {
                let trigram = String::from_iter(trigram);
                if !trigrams.contains(&trigram) {
                    trigrams.push(trigram);
                }
            }
        }
        trigrams.truncate(TRIGRAMS_MAX);
        trigrams
    }

    /// Whether the link contains all the words. Takes time in proportion to its length, however the words repeat.
    pub(crate) fn occur_in(&self, link: &Link) -> bool {
        if self.lower.is_empty() {
            return true;
        }
        // No word contains the separator.
        let tags = link.tags.as_slice().iter().map(String::as_str);
        let parts = [link.short.as_str(), link.target.as_str()].into_iter().chain(tags);
        let text = lower(&parts.collect::<Vec<_>>().join("\n"));
        self.lower.iter().all(|word| word.find(text.as_bytes()).is_some())
    }
}

/// Converts to lower case, each character by itself: parts of a word get the same case as the word.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.chars().flat_map(char::to_lowercase).collect()
    }
}

#[cfg(test)]
mod tests {
    use lodge_contract::samples::{fresh, link, target};

    use super::*;

    fn words(search: &str) -> Words {
        Words::parse(search).unwrap()
    }

    #[test]
    fn the_index_is_asked_for_few_trigrams_however_long_the_words_are() {
        assert_eq!(words("ab lifts/7 lif").matching(), r#""lif" AND "ts/" AND "s/7""#);
        assert_eq!(words("a\"b").matching(), r#""a""b""#);
        assert_eq!(words(&"x".repeat(250)).matching(), r#""xxx""#);
        let many: String = ('a'..='z').flat_map(|c| [c, 'A', '0', '_', '-']).collect();
        assert_eq!(words(&many).trigrams().len(), TRIGRAMS_MAX);
        assert!(words("ab c").trigrams().is_empty());
    }

    #[test]
    fn a_word_occurs_in_one_field_as_a_whole() {
        let mut link = link(&fresh("short"));
        link.target = target("https://example.org/xxxyxxx");
        link.tags = lodge_domain::links::Tags::parse(["Ä-lift", "b"]).unwrap();
        for found in ["SHORT", "xyx org", "ä-L", "b"] {
            assert!(words(found).occur_in(&link), "{found}");
        }
        for other in ["xxxx", "liftb", "lift\",\"b", "org zz"] {
            assert!(!words(other).occur_in(&link), "{other}");
        }
    }
}
