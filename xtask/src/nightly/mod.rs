//! `cargo xtask nightly`: what takes hours because it repeats for depth.

mod results;
mod table;

use std::{env, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lodge_testbed::{DEPTH, NIGHTLY};

use self::results::{Record, Results};
use crate::{
    process,
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

/// Runs the steps, each to its end, and keeps the result of each at once.
pub(crate) fn run(options: &Options) -> Result<()> {
    let results = Results::at(process::root().join("target/nightly/results.jsonl"));
    let commit = process::commit()?;
    // Two trees that differ from a commit may differ from each other.
    ensure!(!(options.resume && commit.ends_with('+')), "--resume needs a clean work tree");
    system::provide(FOR_TESTS)?;
    system::provide(FOR_CLUSTERS)?;
    system::provide(FOR_NIGHTLY)?;
    system::provide_geckodriver()?;
    let mut failed = Vec::new();
    for step in &STEPS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == step.name) {
            continue;
        }
        if options.resume && results.has_passed(step.name, &commit)? {
            println!("── {}: passed on {commit} before", step.name);
            continue;
        }
        let record = step.run(options.resume, &commit)?;
        if !record.has_passed {
            failed.push(step.name);
        }
        results.keep(record)?;
        table::write(&process::root().join("docs/nightly.md"), &STEPS, &results.read()?)?;
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
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
