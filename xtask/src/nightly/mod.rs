//! `cargo xtask nightly`: what takes hours because it repeats for depth.

mod table;

use std::{env, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lodge_testbed::{DEPTH, NIGHTLY};
use serde::{Deserialize, Serialize};

use crate::{
    process, results,
    system::{self, FOR_CLUSTERS, FOR_NIGHTLY, FOR_TESTS},
};

/// What to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave out the steps, and within the faults the rows, that have passed on this commit.
    #[arg(long)]
    resume: bool,
    /// Only these steps, with commas between.
    #[arg(long, value_delimiter = ',', value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
}

/// One of the commands, with tests at their nightly depth.
struct Step {
    name: &'static str,
    /// What the table says of it.
    what: &'static str,
    /// Arguments of this program.
    arguments: &'static [&'static str],
    /// Whether it keeps its own results, and leaves out with `--resume` what has passed.
    is_resumable: bool,
}

const STEPS: [Step; 5] = [
    Step {
        name: "alone",
        what: "tests on one machine: 20 kills each, 4,096 cases of each property (240 of the board's origins), Firefox",
        arguments: &["test", "--only", "alone"],
        is_resumable: false,
    },
    Step {
        name: "cluster",
        what: "tests on a cluster",
        arguments: &["test", "--only", "cluster"],
        is_resumable: false,
    },
    Step {
        name: "mutations",
        what: "code left out: a test notices each",
        arguments: &["mutations"],
        is_resumable: false,
    },
    Step {
        name: "faults",
        what: "all rows of [failure-modes.md](failure-modes.md), three seeds",
        arguments: &["faults", "--seeds", "3"],
        is_resumable: true,
    },
    Step {
        name: "fuzz",
        what: "every fuzz target for ten minutes",
        arguments: &["fuzz", "--seconds", "600"],
        is_resumable: false,
    },
];

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

/// Runs the steps, each to its end, and keeps the result of each at once.
pub(crate) fn run(options: &Options) -> Result<()> {
    let file = results::file("nightly");
    let commit = results::commit(options.resume)?;
    system::provide(FOR_TESTS)?;
    system::provide(FOR_CLUSTERS)?;
    system::provide(FOR_NIGHTLY)?;
    system::provide_geckodriver()?;
    let mut failed = Vec::new();
    for step in &STEPS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == step.name) {
            continue;
        }
        if options.resume && has_passed(&file, step.name, &commit)? {
            println!("── {}: passed on {commit} before", step.name);
            continue;
        }
        let record = step.run(options.resume, &commit)?;
        if !record.has_passed {
            failed.push(step.name);
        }
        results::keep(&file, record, Record::replaces)?;
        table::write(&process::root().join("docs/nightly.md"), &STEPS, &results::read(&file)?)?;
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

impl Step {
    /// By this program itself, which cargo might build anew while code is left out.
    fn run(&self, resume: bool, commit: &str) -> Result<Record> {
        println!("\n── {}: {}", self.name, self.what);
        let day = process::output("date", &["-u", "+%F"])?.trim().to_owned();
        let began = Instant::now();
        let mut command = Command::new(env::current_exe()?);
        command.args(self.arguments).env(DEPTH, NIGHTLY);
        if resume && self.is_resumable {
            command.arg("--resume");
        }
        let status = command.status().with_context(|| format!("{} cannot be run", self.name))?;
        Ok(Record {
            step: self.name.to_owned(),
            commit: commit.to_owned(),
            day,
            took_s: began.elapsed().as_secs(),
            has_passed: status.success(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_step_is_left_out_where_its_last_run_passed_on_the_commit() {
        let folder = std::env::temp_dir().join(format!("nightly-{}", std::process::id()));
        let file = folder.join("results.jsonl");
        let has_passed = |step, commit| has_passed(&file, step, commit).unwrap();
        let record = |step: &str, commit: &str, has_passed| Record {
            step: step.to_owned(),
            commit: commit.to_owned(),
            day: "2026-01-01".to_owned(),
            took_s: 7,
            has_passed,
        };
        let keep = |record| results::keep(&file, record, Record::replaces).unwrap();
        assert!(!has_passed("fuzz", "a"));
        keep(record("fuzz", "a", true));
        keep(record("faults", "a", false));
        assert!(has_passed("fuzz", "a"));
        assert!(!has_passed("fuzz", "b"));
        assert!(!has_passed("faults", "a"));
        keep(record("fuzz", "b", false));
        assert_eq!(results::read::<Record>(&file).unwrap().len(), 2);
        assert!(!has_passed("fuzz", "a"));
        fs::remove_dir_all(folder).unwrap();
    }
}
