//! `docs/nightly.md`.

use std::{fs, path::Path};

use anyhow::Result;

use super::{Record, Step};

const HEAD: &str = "\
# Nightly

`cargo xtask nightly` runs what `cargo xtask test` leaves out because it repeats for depth, and writes this
page. Each row is the last run of a step; of one that was resumed, the minutes are those of its last part.

| step | what | day | commit | minutes | result |
| --- | --- | --- | --- | --- | --- |
";

/// Writes the page: a line for each step.
pub(super) fn write(file: &Path, steps: &[Step], records: &[Record]) -> Result<()> {
    let lines: String = steps.iter().map(|step| line(step, records)).collect();
    Ok(fs::write(file, format!("{HEAD}{lines}"))?)
}

fn line(step: &Step, records: &[Record]) -> String {
    let last = records.iter().find(|record| record.step == step.name);
    let outcome = last.map_or_else(
        || "| | | has not run".to_owned(),
        |last| {
            let Record { day, commit, took_s, has_passed, .. } = last;
            let result = if *has_passed { "passed" } else { "failed" };
            format!("{day} | {commit} | {} | {result}", took_s.div_ceil(60))
        },
    );
    format!("| `{}` | {} | {outcome} |\n", step.name, step.what)
}
