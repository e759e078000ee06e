//! House rules that no lint knows.

use anyhow::{Result, bail};

use crate::process;

/// A file of ours that is longer is two ideas.
const LINES_MAX: usize = 800;

/// Refuses files that have grown too long.
pub(crate) fn file_lengths() -> Result<()> {
    let files = process::output("git", &["ls-files", "*.rs", "*.css", "*.js", "*.html", "*.sql"])?;
    for file in files.lines() {
        let lines = std::fs::read_to_string(process::root().join(file))
            .map_or(0, |text| text.lines().count());
        if lines > LINES_MAX {
            bail!("{file} has {lines} lines; {LINES_MAX} is the most");
        }
    }
    Ok(())
}
