//! `lodge load`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::{
    out::Out,
    seed::{self, SeedOptions},
};

/// `lodge load …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    /// Load over the network, against any server.
    #[command(flatten)]
    Server(Box<lodge_load::LoadCommand>),
    /// Fill a data folder with accounts that share one password, and start sessions for some of them. Stop
    /// the server first
    AccountsSeed(SeedOptions),
}

/// Runs a load command. Returns exit code 1 if an acknowledged write is missing.
pub(crate) fn run(command: &LoadCommand) -> Result<ExitCode> {
    match command {
        LoadCommand::Server(command) => {
            Ok(ExitCode::from(lodge_load::run_to(command, &mut Out::lock())?.exit_code()))
        }
        LoadCommand::AccountsSeed(options) => seed::run(options),
    }
}
