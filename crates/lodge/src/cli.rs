//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::{
    commands::{admin::AdminOptions, load::LoadCommand, moving::MoveOptions},
    config::{App, Role},
};

/// Short links and accounts in one binary that starts with nothing else installed.
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

/// Where the configuration comes from: this, over the environment, over the file, over the defaults.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigOptions {
    /// The configuration file; without it, ./lodge.toml if there is one. [env: `LODGE_CONFIG`]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The data folder. [default: ./lodge-data]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Where to listen for the public. [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where to listen for metrics and health checks. [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) ops_listen: Option<SocketAddr>,
    /// The apps to run, between commas. [default: all]
    #[arg(long, value_delimiter = ',', value_name = "APP")]
    pub(crate) apps: Option<Vec<App>>,
    /// What this process does; can be given more than once. [default: all of them]
    #[arg(long = "role", value_delimiter = ',', value_name = "ROLE")]
    pub(crate) roles: Option<Vec<Role>>,
}
