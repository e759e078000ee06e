//! What of the configuration can be said on the command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::{App, Role};

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
