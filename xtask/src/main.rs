//! What a developer runs: `cargo xtask test`, `cargo xtask bench links`, `cargo xtask fuzz`.

mod bench;
mod check;
mod fuzz;
mod process;
mod system;
mod test;

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
    Test,
    /// Measure.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Run every fuzz target for a while; needs a nightly toolchain and cargo-fuzz.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Test => test::run(),
        Command::Bench(bench) => bench::run(&bench),
        Command::Fuzz { seconds } => fuzz::run(seconds),
    }
}
