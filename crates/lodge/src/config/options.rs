//! Settings that the command line can override.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::{App, Role, listen};

/// Command-line options. They override the environment, which overrides the file, which overrides the defaults.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigOptions {
    /// The configuration file. [default: ./lodge.toml, if it exists] [env: `LODGE_CONFIG`]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The data folder. [default: ./lodge-data]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// The address of the public HTTP listener; :8080 listens on all IPv4 addresses. [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen::parse)]
    pub(crate) listen: Option<SocketAddr>,
    /// The address of the listener for metrics and health checks. [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen::parse)]
    pub(crate) ops_listen: Option<SocketAddr>,
    /// The apps to serve, separated by commas. [default: all]
    #[arg(long, value_delimiter = ',', value_name = "APP")]
    pub(crate) apps: Option<Vec<App>>,
    /// The roles of this process, separated by commas; can be repeated. [default: all]
    #[arg(long = "role", value_delimiter = ',', value_name = "ROLE")]
    pub(crate) roles: Option<Vec<Role>>,
}
