//! `cargo xtask faults`: injects faults, one at a time, into a real cluster under load. Nothing that was acknowledged
//! may be lost or duplicated.

mod accounts;
mod fault;
mod line;
mod links;
mod record;
mod row;
mod rows;
mod run;
mod table;
mod victims;
mod workload;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail, ensure};
use clap::Args;
use lodge_testbed::{Cluster, Kind, Member};
use rand::{SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use self::{
    record::Record,
    rows::{FIXED, PromisedRow, ROTATING},
};
use crate::{
    cluster, process, results,
    system::{self, FOR_CLUSTERS},
};

/// Options of `cargo xtask faults`.
#[derive(Args)]
pub(crate) struct Options {
    /// Runs of each row, each with another seed, which selects other processes and moments.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Run only the rows whose names begin with NAME.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Skip the rows and seeds that have passed on this commit.
    #[arg(long)]
    resume: bool,
    /// Use this Lodge binary, such as a deliberately broken one, and do not save the results.
    #[arg(long, value_name = "FILE")]
    lodge: Option<PathBuf>,
}

/// Runs the rows on a new cluster.
pub(crate) fn run(options: &Options) -> Result<()> {
    let file = results::file("faults");
    let commit = results::commit(options.resume)?;
    let runs = runs(options, &file, &commit)?;
    if runs.is_empty() {
        return write_table(&file);
    }
    system::provide(FOR_CLUSTERS)?;
    let lodge = match &options.lodge {
        Some(lodge) => lodge.canonicalize()?,
        None => cluster::built_lodge()?,
    };
    let kept = options.lodge.is_none().then_some(file.as_path());
    cluster::with_own(&lodge, |cluster| run_on(cluster, &runs, &commit, kept))
}

/// The rows with their seeds, except those that have passed on this commit if the command resumes.
fn runs(options: &Options, file: &Path, commit: &str) -> Result<Vec<(PromisedRow, u64)>> {
    let done: Vec<Record> = if options.resume { results::read(file)? } else { Vec::new() };
    let is_done = |row: PromisedRow, seed: u64| {
        done.iter().any(|kept| {
            kept.broken.is_empty()
                && (&*kept.fault, kept.seed, &*kept.commit) == (row.name, seed, commit)
        })
    };
    let rows = chosen(options.only.as_deref())?;
    let all = (1..=options.seeds).flat_map(|seed| rows.iter().map(move |row| (*row, seed)));
    let mut left: Vec<_> = all.filter(|(row, seed)| !is_done(*row, *seed)).collect();
    // Grouped by deployment, because each change restarts the web processes.
    left.sort_by_key(|(row, _)| row.deployment);
    Ok(left)
}

fn write_table(file: &Path) -> Result<()> {
    table::write(&process::root().join("docs/failure-modes.md"), &results::read(file)?)
}

fn run_on(
    cluster: &Cluster,
    runs: &[(PromisedRow, u64)],
    commit: &str,
    file: Option<&Path>,
) -> Result<()> {
    let mut broken = Vec::new();
    for runs in runs.chunk_by(|(one, _), (next, _)| one.deployment == next.deployment) {
        let Some((first, _)) = runs.first() else { continue };
        let cluster = cluster.deployed(first.deployment);
        cluster.restart_webs()?;
        let api_key = api_key(&cluster)?;
        for (row, seed) in runs {
            let record = one(&cluster, &api_key, *row, *seed, commit)?;
            if record.as_ref().is_none_or(|record| !record.broken.is_empty()) {
                broken.push(row.name);
            }
            if let (Some(record), Some(file)) = (record, file) {
                results::save(file, record, Record::replaces)?;
                write_table(file)?;
            }
        }
    }
    ensure!(broken.is_empty(), "broken promises in: {}", broken.join(", "));
    Ok(())
}

/// Runs the rows selected by this commit on a running cluster, and restores it.
pub(crate) fn run_in_test(cluster: &Cluster) -> Result<()> {
    let commit = process::commit()?;
    let number = u64::from_str_radix(commit.trim_end_matches('+'), 16)?;
    let (fixed, others): (Vec<PromisedRow>, Vec<PromisedRow>) =
        rows::all().partition(|row| FIXED.contains(&row.name));
    let quick: Vec<PromisedRow> =
        others.into_iter().filter(|row| !row.fault.takes_minutes()).collect();
    let rotating = quick.sample(&mut StdRng::seed_from_u64(number), ROTATING).copied();
    let seed = 1 + number % 3;
    let mut rows: Vec<_> = fixed.into_iter().chain(rotating).map(|row| (row, seed)).collect();
    rows.sort_by_key(|(row, _)| row.deployment);
    let ran = run_on(cluster, &rows, &commit, None);
    cluster.restart_webs()?;
    cluster.wait_settled()?;
    ran
}

/// Runs one row; returns `None` if it could not be completed, which counts as a broken promise, too.
/// Restores the cluster in either case.
fn one(
    cluster: &Cluster,
    api_key: &str,
    row: PromisedRow,
    seed: u64,
    commit: &str,
) -> Result<Option<Record>> {
    println!("\n── {} ({}), seed {seed}", row.title, row.name);
    let record = run::run(cluster, api_key, row, seed, commit);
    let broken = match &record {
        Ok(record) => {
            println!("   {}", serde_json::to_string(record)?);
            record.broken.join("; ")
        }
        Err(error) => format!("the row could not be completed: {error:#}"),
    };
    match &record {
        Ok(record) if record.broken.is_empty() => println!("── passed in {} s", record.took_s),
        _ => {
            println!("── BROKEN: {broken}");
            keep_logs(cluster, row.name)?;
            fault::restore(cluster)?;
        }
    }
    Ok(record.ok())
}

/// Copies the logs of all processes after a failed row.
fn keep_logs(cluster: &Cluster, row: &str) -> Result<()> {
    let kept = process::root().join("target/faults/logs").join(row);
    fs::create_dir_all(&kept)?;
    for log in fs::read_dir(cluster.layout().root().join("log"))? {
        let log = log?;
        fs::copy(log.path(), kept.join(log.file_name()))?;
    }
    println!("   logs: {}", kept.display());
    Ok(())
}

fn chosen(only: Option<&str>) -> Result<Vec<PromisedRow>> {
    let rows: Vec<PromisedRow> =
        rows::all().filter(|row| only.is_none_or(|start| row.name.starts_with(start))).collect();
    if rows.is_empty() {
        let names: Vec<&str> = rows::all().map(|row| row.name).collect();
        bail!("no row has this name; the rows are {}", names.join(", "));
    }
    Ok(rows)
}

/// Creates an API key.
fn api_key(cluster: &Cluster) -> Result<String> {
    let data = cluster.layout().folder(Member { kind: Kind::Web, number: 1 });
    let mut command = Command::new(cluster.lodge());
    command.args(["admin", "key", "create", "faults", "--data"]).arg(data);
    Ok(process::printed(&mut command)?.trim().to_owned())
}
