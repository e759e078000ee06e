//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        admin::AdminOptions, breached::BreachedOptions, load::LoadCommand, moving::MoveOptions,
    },
    config::options::ConfigOptions,
};

/// Short links, a message board, accounts and lift rides in one binary that needs nothing else installed.
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
    /// Check the configuration and test the connection to every server that it names.
    Check(ConfigOptions),
    /// Administer a data folder, whether or not a server is running on it.
    Admin(AdminOptions),
    /// Copy the links, clicks and API keys of a data folder to Cassandra, its accounts to MariaDB, or both, as the
    /// configuration says. Stop all servers of the source and the destination first. An interrupted run resumes. At the
    /// end the copy is compared with the source.
    Move(MoveOptions),
    /// Build a file for `accounts.breached_passwords` from a published list of stolen passwords. Building takes about
    /// 40 bytes of memory per password (40 GB for 1,000,000,000); the file has about 2.25 bytes per password. One in
    /// 65,536 other passwords is refused as well (false positives).
    BreachedPasswords(BreachedOptions),
    /// Generate load on a server and report throughput and latency.
    #[command(subcommand)]
    Load(Box<LoadCommand>),
    /// Decode one picture from standard input. The server starts this process for each picture.
    #[command(hide = true)]
    DecodePicture,
}
