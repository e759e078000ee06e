//! Results of long commands: a line of JSON each, saved as soon as it is known, so that `--resume` continues
//! an interrupted command.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::process;

/// The file of a command's results.
pub(crate) fn file(command: &str) -> PathBuf {
    process::root().join("target").join(command).join("results.jsonl")
}

/// The commit that the results belong to.
pub(crate) fn commit(resume: bool) -> Result<String> {
    let commit = process::commit()?;
    // Two trees that differ from a commit may differ from each other.
    ensure!(!(resume && commit.ends_with('+')), "--resume needs a clean work tree");
    Ok(commit)
}

/// Reads the results in a file; none if the file does not exist.
pub(crate) fn read<R: DeserializeOwned>(file: &Path) -> Result<Vec<R>> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("{} cannot be read", file.display()))?,
    };
    // Skips an unfinished line, whose run was interrupted.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Adds a result and removes those that it replaces. The file is replaced atomically.
pub(crate) fn save<R: Serialize + DeserializeOwned>(
    file: &Path,
    record: R,
    replaces: impl Fn(&R, &R) -> bool,
) -> Result<()> {
    let mut records: Vec<R> = read(file)?;
    records.retain(|kept| !replaces(&record, kept));
    records.push(record);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let fresh = file.with_extension("new");
    let mut written = File::create(&fresh)?;
    for record in &records {
        writeln!(written, "{}", serde_json::to_string(record)?)?;
    }
    written.sync_all()?;
    Ok(fs::rename(fresh, file)?)
}

/// The parts of a command that have passed, with their commits.
pub(crate) struct Passes {
    file: PathBuf,
    commit: String,
    resume: bool,
    /// Held while a pass is saved.
    saving: Mutex<()>,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Passed {
    part: String,
    commit: String,
}

impl Passes {
    /// Returns the passes of a command for the current commit.
    pub(crate) fn of(command: &str, resume: bool) -> Result<Self> {
        Ok(Self { file: file(command), commit: commit(resume)?, resume, saving: Mutex::default() })
    }

    /// Runs a part, unless the command resumes and the part has passed on the commit; returns whether it has
    /// passed.
    pub(crate) fn run(&self, part: &str, run: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let passed = Passed { part: part.to_owned(), commit: self.commit.clone() };
        if self.resume && read(&self.file)?.contains(&passed) {
            println!("── {part}: already passed on {}", self.commit);
            return Ok(true);
        }
        let has_passed = run()?;
        if has_passed {
            let _saving = self.saving.lock();
            save(&self.file, passed, |later, kept| later.part == kept.part)?;
        }
        Ok(has_passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_skipped_if_it_has_passed_on_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let on = |commit: &str, resume| Passes {
            file: folder.path().join("results.jsonl"),
            commit: commit.to_owned(),
            resume,
            saving: Mutex::default(),
        };
        let ran = |passes: Passes, part: &str, has_passed: bool| {
            let mut ran = false;
            let run = || {
                ran = true;
                Ok(has_passed)
            };
            assert_eq!(passes.run(part, run).unwrap(), has_passed || !ran);
            ran
        };
        assert!(ran(on("a", true), "wire", true));
        assert!(ran(on("a", true), "short", false));
        assert!(!ran(on("a", true), "wire", true));
        assert!(ran(on("a", true), "short", true));
        assert!(ran(on("a", false), "wire", true));
        assert!(ran(on("b", true), "wire", true));
    }
}
