//! The words of a search.

use lodge_domain::Error;
use rusqlite::Connection;

use crate::failure::Failure;

/// Most words in a search.
const WORDS_MAX: usize = 8;

/// Most characters in a search.
const LENGTH_MAX: usize = 256;

/// The index finds words from this length on, in characters.
const INDEXED_LENGTH: usize = 3;

/// With more matches than this, of all owners, it is cheaper to walk one owner's links.
const RARE_MATCHES_MAX: i64 = 5_000;

/// Words, each of which must stand in a link's short or target, in upper or lower case.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<String>);

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Through the index, then look at the matches.
    Index,
    /// Along the owner's links, and look at each.
    Scan,
}

impl Words {
    /// Splits a search at its white space.
    pub(crate) fn parse(search: &str) -> Result<Self, Error> {
        let words: Vec<String> = search
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if words.len() > WORDS_MAX || search.chars().count() > LENGTH_MAX {
            return Err(Error::invalid(
                "search",
                format!("must be at most {WORDS_MAX} words and {LENGTH_MAX} characters"),
            ));
        }
        Ok(Self(words))
    }

    /// The better way to find them.
    pub(crate) fn plan(&self, connection: &Connection) -> Result<Plan, Failure> {
        if !self.0.iter().any(|word| is_indexed(word)) {
            return Ok(Plan::Scan);
        }
        let sql =
            "SELECT count(*) FROM (SELECT 1 FROM link_search WHERE link_search MATCH ?1 LIMIT ?2)";
        let values = (self.matching(), RARE_MATCHES_MAX + 1);
        let matches: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        Ok(if matches > RARE_MATCHES_MAX { Plan::Scan } else { Plan::Index })
    }

    /// The words that the index finds, as strings of its query language, in which only `"` is special.
    pub(crate) fn matching(&self) -> String {
        let quoted: Vec<String> = self
            .0
            .iter()
            .filter(|word| is_indexed(word))
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
            .collect();
        quoted.join(" ")
    }

    /// Patterns for `LIKE`, with `\` as its escape, of the words that `plan` leaves to it.
    pub(crate) fn patterns(&self, plan: Plan) -> impl Iterator<Item = String> {
        let left = move |word: &&String| plan == Plan::Scan || !is_indexed(word);
        self.0.iter().filter(left).map(|word| {
            format!("%{}%", word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
        })
    }
}

fn is_indexed(word: &str) -> bool {
    word.chars().count() >= INDEXED_LENGTH
}
