//! The sample messages of `docs/wire.md`; also the initial corpus of the fuzz target.

use serde_json::{Value, from_str};

pub(crate) const DOCUMENT: &str = include_str!("../../../../docs/wire.md");

/// Parses the first column of the table below this heading.
pub(crate) fn table(heading: &str) -> Vec<Value> {
    let (_, below) = DOCUMENT.split_once(&format!("{heading}\n")).unwrap();
    let below = below.split("\n#").next().unwrap();
    let shown = below.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    shown.map(|shown| from_str(&written_out(shown)).expect(shown)).collect()
}

/// Replaces the letters by the values that they stand for.
fn written_out(shown: &str) -> String {
    let mut outside = true;
    let parts = shown.split_inclusive('"').map(|part| {
        let is_outside = outside;
        outside = !outside;
        if is_outside {
            part.replace('D', &digest()).replace('A', &row("A")).replace('S', &row("S"))
        } else {
            part.to_owned()
        }
    });
    parts.collect()
}

fn digest() -> String {
    format!("{:?}", [7; 32])
}

/// Returns the value that a letter stands for.
fn row(letter: &str) -> String {
    let (_, after) = DOCUMENT.split_once(&format!("| `{letter}` | `")).unwrap();
    after.split('`').next().unwrap().to_owned()
}
