//! Progress bars.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar, which is drawn only on a terminal.
pub(super) fn progress_bar(length: u64, template: &str) -> Result<ProgressBar> {
    Ok(ProgressBar::new(length).with_style(ProgressStyle::with_template(template)?))
}
