//! `cargo xtask fuzz`.

use anyhow::Result;

use crate::{process, system};

/// What no input may take more of, the sanitizer's share included: a picture that is within bounds takes half
/// of it.
const MEMORY: &str = "-rss_limit_mb=1024";

/// Runs every target for so many seconds; the first finding ends it.
pub(crate) fn run(seconds: u64) -> Result<()> {
    system::provide_fuzzing()?;
    let targets = process::output("cargo", &["+nightly", "fuzz", "list"])?;
    let limit = format!("-max_total_time={seconds}");
    for target in targets.lines() {
        process::run(
            "cargo",
            &[
                "+nightly",
                "fuzz",
                "run",
                target,
                "--",
                &limit,
                "-max_len=20000",
                "-timeout=10",
                MEMORY,
            ],
            &[],
        )?;
    }
    println!(
        "\nno finding in {seconds} s for each of {}",
        targets.split_whitespace().collect::<Vec<_>>().join(", ")
    );
    Ok(())
}
