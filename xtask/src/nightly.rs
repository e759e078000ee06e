//! `cargo xtask nightly`: tests that take hours because they repeat for depth.

use std::{env, fs, path::Path, time::Instant};

use anyhow::{Result, ensure};
use clap::Args;
use lodge_testbed::{DEPTH, NIGHTLY};
use serde::{Deserialize, Serialize};

use crate::{process, results};

/// Options of `cargo xtask nightly`.
#[derive(Args)]
pub(crate) struct Options {
    /// Skip the steps but `dependencies` that have passed on this commit, and in an interrupted step the faults, mutations and
    /// fuzz targets that have. A commit that changes only Markdown files counts as the one before it.
    #[arg(long)]
    resume: bool,
    /// Run only these steps, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
}

/// A command, run with tests at nightly depth.
struct Step {
    name: &'static str,
    /// Its description in the table.
    what: &'static str,
    /// Arguments of this program.
    arguments: &'static [&'static str],
}

/// The start of `docs/nightly.md`, the page with the last run of each step.
const HEAD: &str = "\
# Nightly

`cargo xtask nightly` runs the long tests that `cargo xtask test` leaves out, and writes this page. Each row
is the last run of a step; for a resumed run the minutes are those of its last part.

| step | what | day | commit | minutes | result |
| --- | --- | --- | --- | --- | --- |
";

const STEPS: [Step; 7] = [
    step(
        "dependencies",
        "licences, sources and known vulnerabilities of all dependencies",
        &["dependencies"],
    ),
    step("rustdoc", "documentation without warnings", &["test", "--only", "rustdoc"]),
    step(
        "alone",
        "tests on one machine: 20 kills each, 4,096 cases of each property (240 of the board's origins), Firefox",
        &["test", "--only", "alone"],
    ),
    step("cluster", "tests on a cluster", &["test", "--only", "cluster"]),
    step("mutations", "essential code removed: a test fails each time", &["mutations"]),
    step(
        "faults",
        "all rows of [failure-modes.md](failure-modes.md), three seeds",
        &["faults", "--seeds", "3"],
    ),
    step("fuzz", "every fuzz target for ten minutes", &["fuzz", "--seconds", "600"]),
];

const fn step(name: &'static str, what: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, what, arguments }
}

/// The last run of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    step: String,
    commit: String,
    /// The day on which it began, UTC.
    day: String,
    took_s: u64,
    has_passed: bool,
}

/// Runs all steps, also after a failed one, and saves the result of each at once.
pub(crate) fn run(options: &Options) -> Result<()> {
    let file = results::file("nightly");
    let commit = results::commit(options.resume)?;
    // Asked once: a step builds this executable again, under the same name.
    let program = env::current_exe()?;
    let mut failed = Vec::new();
    for step in &STEPS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == step.name) {
            continue;
        }
        // The list of vulnerabilities changes without a commit.
        let is_same = step.name != "dependencies";
        if options.resume && is_same && has_passed(&file, step.name, &commit)? {
            println!("── {}: already passed on {commit}", step.name);
            continue;
        }
        let record = step.run(&program, options.resume, &commit)?;
        if !record.has_passed {
            failed.push(step.name);
        }
        results::save(&file, record, Record::replaces)?;
        write_page(&results::read(&file)?)?;
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Whether the last run of a step was on this commit, and passed.
fn has_passed(file: &Path, step: &str, commit: &str) -> Result<bool> {
    let is_it = |kept: &Record| kept.step == step && kept.commit == commit && kept.has_passed;
    Ok(results::read(file)?.iter().any(is_it))
}

impl Record {
    /// Whether this is a later run of the same step.
    fn replaces(&self, kept: &Self) -> bool {
        self.step == kept.step
    }
}

/// Writes the page; the row of a step without a record stays as it is.
fn write_page(records: &[Record]) -> Result<()> {
    let file = process::root().join("docs/nightly.md");
    let page = fs::read_to_string(&file)?;
    let lines: String = STEPS.iter().map(|step| step.line(records, &page)).collect();
    Ok(fs::write(file, format!("{HEAD}{lines}"))?)
}

impl Step {
    /// Runs this executable, not cargo, which might rebuild it while a mutation is applied.
    fn run(&self, program: &Path, resume: bool, commit: &str) -> Result<Record> {
        println!("\n── {}: {}", self.name, self.what);
        let day = process::output("date", &["-u", "+%F"])?.trim().to_owned();
        let began = Instant::now();
        let mut arguments = self.arguments.to_vec();
        // Tests save no results: all of them run again.
        if resume && !["test", "dependencies"].contains(&self.arguments[0]) {
            arguments.push("--resume");
        }
        let ran = process::run(&program.to_string_lossy(), &arguments, &[(DEPTH, NIGHTLY)]);
        Ok(Record {
            step: self.name.to_owned(),
            commit: commit.to_owned(),
            day,
            took_s: began.elapsed().as_secs(),
            has_passed: ran.is_ok(),
        })
    }

    /// Returns the step's line of the page.
    fn line(&self, records: &[Record], page: &str) -> String {
        let start = format!("| `{}` | {} | ", self.name, self.what);
        if let Some(last) = records.iter().find(|record| record.step == self.name) {
            let Record { day, commit, took_s, has_passed, .. } = last;
            let result = if *has_passed { "passed" } else { "failed" };
            return format!("{start}{day} | {commit} | {} | {result} |\n", took_s.div_ceil(60));
        }
        match page.lines().find(|line| line.starts_with(&start)) {
            Some(line) => format!("{line}\n"),
            None => format!("{start}| | | has not run |\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(step: &str, commit: &str, has_passed: bool) -> Record {
        Record {
            step: step.to_owned(),
            commit: commit.to_owned(),
            day: "2026-01-01".to_owned(),
            took_s: 61,
            has_passed,
        }
    }

    #[test]
    fn a_step_is_skipped_if_its_last_run_passed_on_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.jsonl");
        let has_passed = |step, commit| has_passed(&file, step, commit).unwrap();
        let keep = |record| results::save(&file, record, Record::replaces).unwrap();
        assert!(!has_passed("fuzz", "a"));
        keep(record("fuzz", "a", true));
        keep(record("faults", "a", false));
        assert!(has_passed("fuzz", "a"));
        assert!(!has_passed("fuzz", "b"));
        assert!(!has_passed("faults", "a"));
        keep(record("fuzz", "b", false));
        assert_eq!(results::read::<Record>(&file).unwrap().len(), 2);
        assert!(!has_passed("fuzz", "a"));
    }

    #[test]
    fn the_row_of_a_step_that_did_not_run_stays() {
        const STEP: Step = step("fuzz", "targets", &[]);
        let row = "| `fuzz` | targets | 2026-01-01 | a | 7 | passed |\n";
        let page = format!("{HEAD}{row}");
        assert_eq!(STEP.line(&[], &page), row);
        assert_eq!(STEP.line(&[], HEAD), "| `fuzz` | targets | | | | has not run |\n");
        let line = "| `fuzz` | targets | 2026-01-01 | b | 2 | failed |\n";
        assert_eq!(STEP.line(&[record("fuzz", "b", false)], &page), line);
    }
}
