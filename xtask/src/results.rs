//! Results of long commands: a line of JSON each, kept as soon as it is known, so that `--resume` goes on
//! where a command was broken off.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::process;

/// The file of a command's results.
pub(crate) fn file(command: &str) -> PathBuf {
    process::root().join("target").join(command).join("results.jsonl")
}

/// The commit that results are of.
pub(crate) fn commit(resume: bool) -> Result<String> {
    let commit = process::commit()?;
    // Two trees that differ from a commit may differ from each other.
    ensure!(!(resume && commit.ends_with('+')), "--resume needs a clean work tree");
    Ok(commit)
}

/// All that are in the file; none if there is no file.
pub(crate) fn read<R: DeserializeOwned>(file: &Path) -> Result<Vec<R>> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("{} cannot be read", file.display()))?,
    };
    // A line that was begun and not finished is a run that was not.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Keeps one in the place of those that it replaces; the file is whole at every moment.
pub(crate) fn keep<R: Serialize + DeserializeOwned>(
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

/// The parts of a command that have passed, each on a commit.
pub(crate) struct Passes {
    file: PathBuf,
    commit: String,
    resume: bool,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Passed {
    part: String,
    commit: String,
}

impl Passes {
    /// Those of a command on the commit that is checked out.
    pub(crate) fn of(command: &str, resume: bool) -> Result<Self> {
        Ok(Self { file: file(command), commit: commit(resume)?, resume })
    }

    /// Runs a part, unless the command resumes and the part has passed on the commit; returns whether it has
    /// passed.
    pub(crate) fn run(&self, part: &str, run: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let passed = Passed { part: part.to_owned(), commit: self.commit.clone() };
        if self.resume && read(&self.file)?.contains(&passed) {
            println!("── {part}: passed on {} before", self.commit);
            return Ok(true);
        }
        let has_passed = run()?;
        if has_passed {
            keep(&self.file, passed, |later, kept| later.part == kept.part)?;
        }
        Ok(has_passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_left_out_where_it_has_passed_on_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let on = |commit: &str, resume| Passes {
            file: folder.path().join("results.jsonl"),
            commit: commit.to_owned(),
            resume,
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
