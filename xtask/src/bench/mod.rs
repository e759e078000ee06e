//! `cargo xtask bench`: the figures of the README, each beside its bar, on this machine.

mod accounts;
mod board;
mod cluster;
mod compare;
mod crowd;
mod experiments;
mod figures;
mod links;
mod lodge;
mod nginx;
mod options;
mod prometheus;
mod rides;
mod tiers;
mod usage;
mod wrk;

use anyhow::Result;
use clap::Subcommand;

use self::options::Options;

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Short links, beside nginx's bare `return 307`.
    Links(links::LinksOptions),
    /// The same on many machines' engines, beside the embedded one; brings the cluster up if need be.
    Cluster(Options),
    /// Accounts, beside nginx's bare `return 200`, on a folder of ten million that is made the first time.
    Accounts(accounts::AccountsOptions),
    /// The experiments on accounts of a system that came before, with its figures beneath; they take hours.
    Experiments(experiments::ExperimentOptions),
    /// Lift rides: recorded, and asked for.
    Rides(rides::RidesOptions),
    /// Two binaries, side by side.
    Compare(compare::CompareOptions),
    /// A message board: many who listen, as many posts as reach them, and a channel that has grown.
    Board(board::BoardOptions),
}

/// Measures.
pub(crate) fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::Links(options) => links::run(options),
        Bench::Cluster(options) => cluster::run(options),
        Bench::Accounts(options) => accounts::run(options),
        Bench::Experiments(options) => experiments::run(&options),
        Bench::Rides(options) => rides::run(options),
        Bench::Compare(options) => compare::run(&options),
        Bench::Board(options) => board::run(options),
    }
}
