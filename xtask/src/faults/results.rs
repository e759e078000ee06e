//! What came of each row, kept as soon as it is known.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::workload::Tally;

/// What came of one row with one seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) commit: String,
    pub(crate) fault: String,
    pub(crate) seed: u64,
    pub(crate) victims: Vec<String>,
    pub(crate) took_s: u64,
    /// The promises that were not kept.
    pub(crate) broken: Vec<String>,
    pub(crate) counted: Counted,
}

/// What was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) lost: u64,
    /// Links that are there more than once.
    pub(crate) listed_twice: u64,
    /// Redirects that the web processes counted as perhaps out of date.
    pub(crate) stale: u64,
    /// How soon the sentinels named another master.
    pub(crate) replaced_ms: Option<u64>,
    /// How long after the fault's end all was well; nothing if it never was.
    pub(crate) recovered_ms: Option<u64>,
    pub(crate) tally: Tally,
}

impl Counted {
    /// Links that are there twice, or were answered for twice.
    pub(crate) fn duplicated(&self) -> u64 {
        self.listed_twice.max(self.tally.duplicated)
    }
}

/// The file that they are kept in, a line each.
pub(crate) struct Results(PathBuf);

impl Results {
    pub(crate) fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// All that are there.
    pub(crate) fn read(&self) -> Result<Vec<Record>> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.with_context(|| format!("{} cannot be read", self.0.display()))?,
        };
        // A line that was begun and not finished is a row that was not.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Keeps one, and lets go of what was kept of the same row and seed.
    pub(crate) fn keep(&self, record: &Record) -> Result<()> {
        let same = |kept: &Record| kept.fault == record.fault && kept.seed == record.seed;
        let mut records = self.read()?;
        records.retain(|kept| !same(kept));
        records.push(record.clone());
        if let Some(folder) = self.0.parent() {
            fs::create_dir_all(folder)?;
        }
        let fresh = self.0.with_extension("new");
        let mut file = File::create(&fresh)?;
        for record in &records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
        }
        file.sync_all()?;
        Ok(fs::rename(fresh, &self.0)?)
    }
}
