//! Rules of the repository that no lint checks.

use anyhow::{Result, bail};

use crate::process;

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
