//! How far a command has come.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar on the terminal, if there is one.
pub(super) fn progress_bar(length: u64, template: &str) -> Result<ProgressBar> {
    Ok(ProgressBar::new(length).with_style(ProgressStyle::with_template(template)?))
}
