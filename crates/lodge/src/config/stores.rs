//! Where each app keeps what it has.

use serde::{Deserialize, Serialize};

/// Where links, their clicks and API keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkStore {
    /// In the data folder; `embedded` is what it was called.
    #[serde(alias = "embedded")]
    Sqlite,
    Cassandra,
}

/// Where another app keeps what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AppStore {
    /// In the data folder.
    Sqlite,
}
