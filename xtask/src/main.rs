//! What a developer runs: `cargo xtask test`, `cargo xtask nightly`, `cargo xtask imports`,
//! `cargo xtask bench links`, `cargo xtask cluster up`, `cargo xtask faults`, `cargo xtask mutations`,
//! `cargo xtask fuzz`.

mod bench;
mod check;
mod cluster;
mod faults;
mod fuzz;
mod http;
mod imports;
mod mutations;
mod nightly;
mod process;
mod results;
mod system;
mod test;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "What a developer runs")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Format, lints, docs, and every test; what the tests need is installed (as root) or named.
    Test(test::Options),
    /// What repeats for depth, and takes hours: all faults, mutations, fuzzing, tests at their nightly depth.
    Nightly(nightly::Options),
    /// Read who imports whom, and name each import that must not be.
    Imports,
    /// Measure.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// A real cluster on loopback addresses: Redis under Sentinel, Cassandra, RabbitMQ, HAProxy, and
    /// three web processes.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Let whatever can fail do so, one thing at a time, on a cluster under load, and write down what
    /// came of it.
    Faults(faults::Options),
    /// Leave out what nothing may be lost without, one thing at a time: a test must notice. The files are
    /// changed in place, and put right again.
    Mutations(mutations::Options),
    /// Run every fuzz target for a while; a nightly toolchain and cargo-fuzz are installed.
    Fuzz(fuzz::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Test(options) => test::run(&options),
        Command::Nightly(options) => nightly::run(&options),
        Command::Imports => imports::run(),
        Command::Bench(bench) => bench::run(bench),
        Command::Cluster(command) => cluster::run(&command),
        Command::Faults(options) => faults::run(&options),
        Command::Mutations(options) => mutations::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
    }
}
