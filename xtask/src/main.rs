//! Developer commands: `cargo xtask test`, `cargo xtask nightly`, `cargo xtask imports`,
//! `cargo xtask bench links`, `cargo xtask cluster up`, `cargo xtask faults`, `cargo xtask mutations`,
//! `cargo xtask fuzz`, `cargo xtask dependencies`.

mod asvs;
mod bench;
mod check;
mod cluster;
mod dependencies;
mod docs;
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
mod test_binaries;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Developer commands of Lodge")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check format, lints and docs, and run every test. Missing packages are installed (as root) or listed.
    Test(test::Options),
    /// Run the long tests, which take hours: all faults, mutations, fuzzing, tests at nightly depth.
    Nightly(nightly::Options),
    /// Check the imports between crates and modules, and list each forbidden one.
    Imports,
    /// Check licences, sources and known vulnerabilities of all dependencies; installs cargo-deny.
    Dependencies,
    /// Measure performance.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Manage a real cluster on loopback addresses: Redis under Sentinel, Cassandra, RabbitMQ, MariaDB, S3, HAProxy, and
    /// accounts and web processes.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Inject faults, one at a time, into a cluster under load, and record the results.
    Faults(faults::Options),
    /// Remove one essential piece of code at a time: a test must fail. The files are changed in place and
    /// restored.
    Mutations(mutations::Options),
    /// Run every fuzz target; installs a nightly toolchain and cargo-fuzz.
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
        Command::Dependencies => dependencies::run(),
        Command::Bench(bench) => bench::run(bench),
        Command::Cluster(command) => cluster::run(&command),
        Command::Faults(options) => faults::run(&options),
        Command::Mutations(options) => mutations::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
    }
}
