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
    /// Over the network, from any server.
    #[command(flatten)]
    Server(Box<lodge_load::LoadCommand>),
    /// Fill a data folder with accounts that share one password, and sign some of them in. No server may
    /// run on it
    AccountsSeed(SeedOptions),
}

/// Puts load on a server; 1 if what it acknowledged is not there.
pub(crate) fn run(command: &LoadCommand) -> Result<ExitCode> {
    match command {
        LoadCommand::Server(command) => {
            Ok(ExitCode::from(lodge_load::run_to(command, &mut Out::lock())?.exit_code()))
        }
        LoadCommand::AccountsSeed(options) => seed::run(options),
    }
}
