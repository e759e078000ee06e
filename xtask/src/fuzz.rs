//! `cargo xtask fuzz`.

use std::{
    num::NonZero,
    thread::{self, ScopedJoinHandle},
};

use anyhow::{Result, anyhow};
use clap::Args;
use parking_lot::Mutex;

use crate::{process, results::Passes, system};

/// Memory limit, with the sanitizer's share: a picture of the largest allowed size needs half of it.
const MEMORY: &str = "-rss_limit_mb=1024";

#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Skip the targets that have run for as many seconds on this commit without a finding.
    #[arg(long)]
    resume: bool,
}

/// Runs every target, one per processor core at a time. After a finding no other target is started.
pub(crate) fn run(options: &Options) -> Result<()> {
    let passes = Passes::of("fuzz", options.resume)?;
    system::provide_fuzzing()?;
    process::run("cargo", &["+nightly", "fuzz", "build"], &[])?;
    let targets = process::output("cargo", &["+nightly", "fuzz", "list"])?;
    let targets: Vec<&str> = targets.split_whitespace().collect();
    let left = Mutex::new(targets.clone());
    let worker = || {
        while let Some(target) = { left.lock().pop() } {
            run_target(target, options.seconds, &passes).inspect_err(|_| left.lock().clear())?;
        }
        Ok(())
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let mut ended = workers.into_iter().map(ScopedJoinHandle::join);
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
    })?;
    println!("\nno finding in {} s for each of {}", options.seconds, targets.join(", "));
    Ok(())
}

fn run_target(target: &str, seconds: u64, passes: &Passes) -> Result<()> {
    let time = format!("-max_total_time={seconds}");
    let fuzz = ["+nightly", "fuzz", "run", target, "--"];
    let limits = [&time, "-max_len=20000", "-timeout=10", MEMORY];
    let run = || process::run("cargo", &[&fuzz[..], &limits].concat(), &[]).map(|()| true);
    passes.run(&format!("{target} for {seconds} s"), run).map(drop)
}
