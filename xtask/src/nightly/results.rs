//! What came of each step, kept as soon as it is known.

use std::{fs, io::ErrorKind, path::PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// The last run of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) step: String,
    pub(super) commit: String,
    /// The day on which it began, UTC.
    pub(super) day: String,
    pub(super) took_s: u64,
    pub(super) has_passed: bool,
}

/// The file that they are kept in, a line each.
pub(super) struct Results(PathBuf);

impl Results {
    pub(super) fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// All that are there.
    pub(super) fn read(&self) -> Result<Vec<Record>> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.with_context(|| format!("{} cannot be read", self.0.display()))?,
        };
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Whether the last run of a step was on this commit, and passed.
    pub(super) fn has_passed(&self, step: &str, commit: &str) -> Result<bool> {
        let is_it = |kept: &Record| kept.step == step && kept.commit == commit && kept.has_passed;
        Ok(self.read()?.iter().any(is_it))
    }

    /// Keeps one in the place of the step's last one; the file is whole at every moment.
    pub(super) fn keep(&self, record: Record) -> Result<()> {
        let mut records = self.read()?;
        records.retain(|kept| kept.step != record.step);
        records.push(record);
        if let Some(folder) = self.0.parent() {
            fs::create_dir_all(folder)?;
        }
        let lines = records.iter().map(|record| Ok(serde_json::to_string(record)? + "\n"));
        let fresh = self.0.with_extension("new");
        fs::write(&fresh, lines.collect::<Result<String>>()?)?;
        Ok(fs::rename(fresh, &self.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_left_out_where_its_last_run_passed_on_the_commit() {
        let folder = std::env::temp_dir().join(format!("nightly-{}", std::process::id()));
        let results = Results::at(folder.join("results.jsonl"));
        let record = |step: &str, commit: &str, has_passed| Record {
            step: step.to_owned(),
            commit: commit.to_owned(),
            day: "2026-01-01".to_owned(),
            took_s: 7,
            has_passed,
        };
        assert!(!results.has_passed("fuzz", "a").unwrap());
        results.keep(record("fuzz", "a", true)).unwrap();
        results.keep(record("faults", "a", false)).unwrap();
        assert!(results.has_passed("fuzz", "a").unwrap());
        assert!(!results.has_passed("fuzz", "b").unwrap());
        assert!(!results.has_passed("faults", "a").unwrap());
        results.keep(record("fuzz", "b", false)).unwrap();
        assert_eq!(results.read().unwrap().len(), 2);
        assert!(!results.has_passed("fuzz", "a").unwrap());
        fs::remove_dir_all(folder).unwrap();
    }
}
