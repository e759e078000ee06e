//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    commands::{admin::AdminOptions, load::LoadCommand, moving::MoveOptions},
    config::options::ConfigOptions,
};

/// Short links, a message board, accounts and lift rides in one binary that starts with nothing else installed.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the apps until SIGTERM or Ctrl-C.
    Serve(ConfigOptions),
    /// Say in plain words whether the configuration is good and everything it names can be reached.
    Check(ConfigOptions),
    /// Administer a data folder, whether or not a server runs on it.
    Admin(AdminOptions),
    /// Move everything in a data folder to the Cassandra cluster that the configuration names. No server
    /// may run on either. It can be broken off and started again, and compares both sides at the end.
    Move(MoveOptions),
    /// Put load on a server and report what it did.
    #[command(subcommand)]
    Load(Box<LoadCommand>),
    /// Decode the picture on the input: what a server starts for each.
    #[command(hide = true)]
    DecodePicture,
}
