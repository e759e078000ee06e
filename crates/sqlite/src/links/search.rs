//! The words of a search for links.

use lodge_domain::Error;
use rusqlite::Connection;

use crate::failure::Failure;

/// Words in a search at most.
const WORDS_MAX: usize = 8;

/// Characters in a search at most.
const LENGTH_MAX: usize = 256;

/// The shortest word that the trigram index finds, in characters.
const INDEXED_LENGTH: usize = 3;

/// Matches in the index, of all owners, above which a scan of one owner's links is cheaper.
const RARE_MATCHES_MAX: i64 = 5_000;

/// Words that must all occur in a link's short, target or tags, ignoring case.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<String>);

/// The plan of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Searches the index, then filters the matches.
    Index,
    /// Scans the owner's links and filters each.
    Scan,
}

impl Words {
    /// Splits a search at white space and control characters.
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

    /// Returns the cheaper plan.
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

    /// Returns the words that the index finds as an FTS5 query of quoted strings, in which only `"` is special.
    pub(crate) fn matching(&self) -> String {
        let quoted: Vec<String> = self
            .0
            .iter()
            .filter(|word| is_indexed(word))
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
            .collect();
        quoted.join(" ")
    }

    /// Returns `LIKE` patterns, with `\` as the escape character, for the words that `plan` does not find by the index.
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
