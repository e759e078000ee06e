//! Settings of the log.

use anyhow::{Result, anyhow};
use lodge_domain::security::Addresses;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// Log levels of drivers, which `log.filter` can override: the Cassandra driver logs every connection,
/// and warns about the short heartbeat interval that detects a hung node.
const DRIVER_LOG_LEVELS: &str = "scylla=warn,scylla::client::session_builder=error";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogConfig {
    pub(crate) format: LogFormat,
    pub(crate) filter: String,
    pub(crate) requests: bool,
    pub(crate) addresses: Addresses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Human,
    Json,
}

impl LogConfig {
    /// Parses `filter`.
    pub(crate) fn levels(&self) -> Result<EnvFilter> {
        let filter = EnvFilter::try_new(format!("{DRIVER_LOG_LEVELS},{}", self.filter));
        // The text of this error contains that of its source.
        filter.map_err(|error| anyhow!("log.filter cannot be parsed: {:?}: {error}", self.filter))
    }
}
