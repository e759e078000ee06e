//! The common options of benchmarks.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Runs of each measurement; they alternate if two servers are compared.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runs: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) seconds: u32,
    /// Smoke test: one short run of each on little data. The figures mean nothing.
    #[arg(long)]
    pub(super) quick: bool,
    /// Run only these parts, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<String>,
}

/// A part of a benchmark with its name.
pub(super) type Part<'a> = (&'a str, &'a dyn Fn() -> Result<()>);

impl Options {
    /// Applies `quick` to the runs; returns whether it is set.
    pub(super) fn settle(&mut self) -> bool {
        if self.quick {
            (self.runs, self.seconds) = (1, 2);
        }
        self.quick
    }

    /// Returns `many`, or `quick` in a quick run.
    pub(super) fn or_quick<T>(&self, many: T, quick: T) -> T {
        if self.quick { quick } else { many }
    }

    /// Returns the result of each run; runs are numbered from 1.
    pub(super) fn each_run<T>(&self, run: impl FnMut(u32) -> Result<T>) -> Result<Vec<T>> {
        (1..=self.runs).map(run).collect()
    }

    /// Runs all parts, or those of `--only`; continues after a failed one.
    pub(super) fn run(&self, parts: &[Part<'_>]) -> Result<()> {
        let is_part = |only: &&String| parts.iter().any(|(name, _)| name == only);
        if let Some(only) = self.only.iter().find(|only| !is_part(only)) {
            let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
            bail!("there is no part {only}; the parts are {}", names.join(", "));
        }
        let is_wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|o| o == name);
        let mut failed = Vec::new();
        for (name, part) in parts.iter().filter(|(name, _)| is_wanted(name)) {
            println!("\n## {name}");
            let began = Instant::now();
            if let Err(error) = part() {
                eprintln!("the part {name}: {error:?}");
                failed.push(*name);
            }
            println!("\n({name}: {:.0} s)", began.elapsed().as_secs_f64());
        }
        ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
        Ok(())
    }

    /// Fails if a bar is not met; a quick run ignores bars.
    pub(super) fn bar(&self, bar: &str, is_kept: bool) -> Result<()> {
        ensure!(self.quick || is_kept, "the bar is not met: {bar}");
        Ok(())
    }
}
