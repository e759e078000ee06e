//! Rules of the repository that no lint checks.

use anyhow::{Result, bail, ensure};

use crate::process;

/// Words that hide who or what acts, and former names of types and functions that have a standard term, in any file.
const VAGUE_WORDS: [&str; 17] = [
    "whoever",
    "whomever",
    "somebody",
    "nobody",
    "everybody",
    "journey",
    "departure",
    "newcomer",
    "wish",
    "wishes",
    "amend",
    "foresee",
    "leaver",
    "leavers",
    "belongings",
    "pulse",
    "vouch",
];

/// Files that are written by hand and contain words.
const TEXT_FILES: [&str; 11] = [
    "*.rs", "*.md", "*.html", "*.css", "*.js", "*.mjs", "*.py", "*.sql", "*.toml", "*.yml", "*.sh",
];

/// This file, which has to name the words.
const OWN_FILE: &str = "xtask/src/check.rs";

/// Maximum number of lines of a file.
const LINES_MAX: usize = 800;

/// Fails for the first file that is too long.
pub(crate) fn file_lengths() -> Result<()> {
    let files = process::output("git", &["ls-files", "*.rs", "*.css", "*.js", "*.html", "*.sql"])?;
    for file in files.lines() {
        let lines = std::fs::read_to_string(process::root().join(file))
            .map_or(0, |text| text.lines().count());
        if lines > LINES_MAX {
            bail!("{file} has {lines} lines; at most {LINES_MAX} are allowed");
        }
    }
    Ok(())
}

/// Fails if a file contains a vague word, also as a part of an identifier.
pub(crate) fn words() -> Result<()> {
    let files = process::output("git", &[&["ls-files"], &TEXT_FILES[..]].concat())?;
    let mut found = Vec::new();
    for file in files.lines().filter(|file| *file != OWN_FILE) {
        let text = std::fs::read_to_string(process::root().join(file)).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            found.extend(vague_words(line).map(|word| format!("{file}:{}: {word}", number + 1)));
        }
    }
    ensure!(found.is_empty(), "name who or what acts instead of:\n{}", found.join("\n"));
    Ok(())
}

fn vague_words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_ascii_alphabetic())
        .flat_map(split_camel_case)
        .filter(|word| VAGUE_WORDS.iter().any(|vague| word.eq_ignore_ascii_case(vague)))
}

/// Splits `RideEvent` into `Ride` and `Event`.
fn split_camel_case(identifier: &str) -> impl Iterator<Item = &str> {
    let bytes = identifier.as_bytes();
    let is_start =
        |at: &usize| bytes[*at].is_ascii_uppercase() && bytes[*at - 1].is_ascii_lowercase();
    let ends = (1..bytes.len()).filter(is_start).chain([identifier.len()]);
    ends.scan(0, |start, end| Some(&identifier[std::mem::replace(start, end)..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_words_are_found_in_prose_and_identifiers() {
        let found = |line| vague_words(line).collect::<Vec<_>>();
        assert_eq!(found("/// Whoever holds somebody's key."), ["Whoever", "somebody"]);
        assert_eq!(found("fn gone_for_everybody(page: SomebodyPage)"), ["everybody", "Somebody"]);
        assert_eq!(found("const NOBODY: u8 = 0;"), ["NOBODY"]);
        assert_eq!(found("let body = nobodys;"), [""; 0]);
    }
}
