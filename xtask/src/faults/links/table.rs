//! The table of links in `docs/failure-modes.md`.

use super::kinds::{EDIT, KNOWN, MAKE, NEW, REPEAT};
use crate::faults::{line::Line, record::Counted};

/// The columns after the fault and before those of every table.
pub(crate) const HEAD: &[&str] = &[
    "PUTs, edits, repeated POSTs acknowledged",
    "unknown",
    "lost",
    "duplicated",
    "false 404s",
    "redirects",
    "failed: known links, new ones",
    "possibly out of date",
    "longest without a redirect of known links, of new ones, without a write",
];

/// Returns the cells of these columns.
pub(crate) fn cells(line: &Line<'_>) -> Vec<String> {
    let known = line.longest(|tally| tally.known_gap_ms);
    let new = line.longest(|tally| tally.new_gap_ms);
    vec![
        format!("{}, {}, {}", line.good(MAKE), line.good(EDIT), line.good(REPEAT)),
        (line.unknown(MAKE) + line.unknown(EDIT) + line.unknown(REPEAT)).to_string(),
        line.sum(|counted| counted.lost).to_string(),
        line.sum(Counted::duplicated).to_string(),
        line.sum(|counted| counted.tally.false_404s).to_string(),
        (line.good(KNOWN) + line.good(NEW)).to_string(),
        format!("{}, {}", line.unknown(KNOWN), line.unknown(NEW)),
        line.sum(|counted| counted.stale).to_string(),
        format!("{known}, {new}, {}", line.longest(|tally| tally.write_gap_ms)),
    ]
}
