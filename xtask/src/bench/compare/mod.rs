//! Two binaries on one machine: alternating runs of the same load. The runs of a pair are made in slices of about a
//! second, which alternate as well, so that changes on the machine affect both alike.

mod figures;
mod server;
mod workloads;

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use self::{
    figures::Figures,
    server::{Binary, Run},
    workloads::{WORKLOADS, Workload},
};
use crate::{
    bench::figures::table,
    system::{self, FOR_BENCHES},
};

/// The first of two ports on which each binary listens.
const OLD_PORT: u16 = 18_060;
const NEW_PORT: u16 = 18_062;

#[derive(Args)]
pub(crate) struct CompareOptions {
    /// The binary to compare with.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The binary to judge; it also generates the load for both.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Alternating pairs of runs of each workload.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Slices of each run.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    slices: u32,
    /// Run only these workloads, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = WORKLOADS.map(|workload| workload.name))]
    only: Vec<String>,
}

/// Runs the workloads; fails unless the new binary is within the limits in each.
pub(crate) fn run(options: &CompareOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    let found = |file: &PathBuf| fs::canonicalize(file).with_context(|| file.display().to_string());
    let (old, new) = (found(&options.old)?, found(&options.new)?);
    let is_wanted =
        |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let mut missed = Vec::new();
    let of_old = "old: median (min to max)";
    table(["workload", "figure", of_old, "new", "new/old", "limit", ""]);
    for workload in WORKLOADS.iter().filter(|workload| is_wanted(workload.name)) {
        let binaries = [(&old, OLD_PORT), (&new, NEW_PORT)].map(|(lodge, port)| Binary {
            lodge,
            generator: &new,
            port,
        });
        let figures = alternate(workload, binaries, options).context(workload.name)?;
        if !figures.print(workload.name) {
            missed.push(workload.name);
        }
    }
    ensure!(missed.is_empty(), "not within the limits: {}", missed.join(", "));
    Ok(())
}

/// Runs the pairs of a workload; every other slice begins with the new binary.
fn alternate(
    workload: &Workload,
    binaries: [Binary<'_>; 2],
    options: &CompareOptions,
) -> Result<Figures> {
    let [old, new] = binaries.map(|binary| binary.serve(&workload.ground));
    let (old, new) = (old?, new?);
    let mut figures = Figures::default();
    for pair in 0..options.pairs {
        let (mut of_old, mut of_new) = (Run::begin(&old)?, Run::begin(&new)?);
        for slice in pair * options.slices..(pair + 1) * options.slices {
            let mut sides = [(&old, &mut of_old), (&new, &mut of_new)];
            if slice % 2 == 1 {
                sides.reverse();
            }
            for (side, run) in sides {
                side.measure(workload, slice, run)?;
            }
        }
        of_old.end(&old, &mut figures.old)?;
        of_new.end(&new, &mut figures.new)?;
    }
    Ok(figures)
}
