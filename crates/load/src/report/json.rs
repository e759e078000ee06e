//! The report as JSON, with everything in it.

use anyhow::Result;

use super::Report;

pub(crate) fn render(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
