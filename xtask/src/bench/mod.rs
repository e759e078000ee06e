//! `cargo xtask bench`: the figures of the README, each beside its bar, on this machine.

mod accounts;
mod beside;
mod board;
mod cluster;
mod compare;
mod crowd;
mod links;
mod rides;
mod servers;
mod wrk;

use anyhow::Result;
use clap::{Args, Subcommand};

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Short links, beside nginx's bare `return 307`.
    Links(Options),
    /// The same on many machines' engines, beside the embedded one; brings the cluster up if need be.
    Cluster(Options),
    /// Accounts, beside nginx's bare `return 200`, on a folder of ten million that is made the first time.
    Accounts(accounts::AccountsOptions),
    /// Lift rides: recorded, and asked for.
    Rides(rides::RidesOptions),
    /// Two binaries, side by side.
    Compare(compare::CompareOptions),
    /// A message board: many who listen, as many posts as reach them, and a channel that has grown.
    Board(board::BoardOptions),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Alternating runs of each server.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds a run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// Links in the memory measurement.
    #[arg(long, default_value_t = 1_000_000)]
    links: u32,
    /// Only the part of this name: for links hot, random, open-loop, creation, clicks, memory, overload,
    /// seeds; for the cluster hot, paths, creation, stampede, drain.
    #[arg(long)]
    only: Option<String>,
}

/// Measures.
pub(crate) fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Links(options) => links::run(options),
        Bench::Cluster(options) => cluster::run(options),
        Bench::Accounts(options) => accounts::run(options),
        Bench::Rides(options) => rides::run(options),
        Bench::Compare(options) => compare::run(options),
        Bench::Board(options) => board::run(options),
    }
}

/// The middle one, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}
