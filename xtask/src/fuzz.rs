//! `cargo xtask fuzz`.

use anyhow::Result;
use clap::Args;

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

/// Runs every target; stops at the first finding.
pub(crate) fn run(options: &Options) -> Result<()> {
    let passes = Passes::of("fuzz", options.resume)?;
    system::provide_fuzzing()?;
    let targets = process::output("cargo", &["+nightly", "fuzz", "list"])?;
    let targets: Vec<&str> = targets.split_whitespace().collect();
    let seconds = options.seconds;
    let time = format!("-max_total_time={seconds}");
    for target in &targets {
        let fuzz = ["+nightly", "fuzz", "run", target, "--"];
        let limits = [&time, "-max_len=20000", "-timeout=10", MEMORY];
        let run = || process::run("cargo", &[&fuzz[..], &limits].concat(), &[]).map(|()| true);
        passes.run(&format!("{target} for {seconds} s"), run)?;
    }
    println!("\nno finding in {seconds} s for each of {}", targets.join(", "));
    Ok(())
}
