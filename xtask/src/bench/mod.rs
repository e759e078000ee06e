//! `cargo xtask bench`: measures the figures of the README on this machine, each with its target (bar).

mod accounts;
mod board;
mod cluster;
mod compare;
mod crowd;
mod experiments;
mod figures;
mod floods;
mod links;
mod lodge;
mod nginx;
mod options;
mod prometheus;
mod rides;
mod seeded;
mod tiers;
mod usage;
mod wrk;

use anyhow::Result;
use clap::Subcommand;

use self::options::Options;

/// A benchmark.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Measure short links, compared with nginx and `return 307`.
    Links(links::LinksOptions),
    /// Measure short links on the cluster, compared with the embedded engine; starts the cluster if needed.
    Cluster(Options),
    /// Measure accounts, compared with nginx and `return 200`; the first run creates ten million accounts.
    Accounts(accounts::AccountsOptions),
    /// Repeat the experiments of an earlier accounts system, next to its figures; takes hours.
    Experiments(experiments::ExperimentOptions),
    /// Measure lift rides: recording and reading.
    Rides(rides::RidesOptions),
    /// Compare two binaries.
    Compare(compare::CompareOptions),
    /// Measure what floods from three addresses cost the clients of a fourth.
    Floods(floods::FloodsOptions),
    /// Measure the message board: many open streams, the highest rate of posts, and a large channel.
    Board(board::BoardOptions),
}

/// Runs a benchmark.
pub(crate) fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::Links(options) => links::run(options),
        Bench::Cluster(options) => cluster::run(options),
        Bench::Accounts(options) => accounts::run(options),
        Bench::Experiments(options) => experiments::run(&options),
        Bench::Rides(options) => rides::run(options),
        Bench::Compare(options) => compare::run(&options),
        Bench::Floods(options) => floods::run(options),
        Bench::Board(options) => board::run(options),
    }
}
