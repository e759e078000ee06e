//! The table of accounts in `docs/failure-modes.md`.

use super::kinds::{CHANGE, END, KINDS, PICTURE, READ, SIGN_IN, SIGN_UP};
use crate::faults::{line::Line, record::Counted};

/// The columns after the fault and before those of every table.
pub(crate) const HEAD: &[&str] = &[
    "sign-ups, sign-ins, changes, sessions ended, pictures set or read",
    "reads",
    "refused: of pictures, of the others",
    "lost",
    "names twice",
    "ended sessions accepted after 1 s",
    "longest without a read, longest other request, longest refusal",
];

/// Returns the cells of these columns.
pub(crate) fn cells(line: &Line<'_>) -> Vec<String> {
    let done = [SIGN_UP, SIGN_IN, CHANGE, END, PICTURE].map(|kind| line.good(kind).to_string());
    let refused: u64 = KINDS.into_iter().map(|kind| line.unknown(kind)).sum();
    let of_pictures = line.unknown(PICTURE);
    let read = line.longest(|tally| tally.known_gap_ms);
    vec![
        done.join(", "),
        line.good(READ).to_string(),
        format!("{of_pictures}, {}", refused - of_pictures),
        line.sum(|counted| counted.lost).to_string(),
        line.sum(Counted::duplicated).to_string(),
        line.sum(|counted| counted.tally.late_ends).to_string(),
        format!(
            "{read}, {}, {}",
            line.longest(|tally| tally.write_gap_ms),
            line.longest(|tally| tally.refusal_ms)
        ),
    ]
}
