//! The files of a report.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

/// The files to which a report is written besides standard output.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportFiles {
    /// Write the whole report as JSON, with a time series of one-second windows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the report as one self-contained HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl ReportFiles {
    /// Fails if one of the files cannot be written, so that this is reported before the run.
    pub(crate) fn check(&self) -> Result<()> {
        for path in [&self.json, &self.html].into_iter().flatten() {
            check(path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Opens a file to write. One that did not exist is removed again.
fn check(path: &Path) -> io::Result<()> {
    let is_new = !path.try_exists()?;
    OpenOptions::new().append(true).create(true).open(path)?;
    if is_new { fs::remove_file(path) } else { Ok(()) }
}

/// Replaces the content of a file.
pub(super) fn save(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
