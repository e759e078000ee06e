//! The store of each app.

use serde::{Deserialize, Serialize};

/// The store of links, clicks and API keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkStore {
    /// In the data folder; `embedded` is its former name.
    #[serde(alias = "embedded")]
    Sqlite,
    Cassandra,
}

/// The store of accounts, sessions and identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AccountsStore {
    /// In the data folder.
    Sqlite,
    MariaDb,
}

/// The store of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PictureStorage {
    /// In folders of this machine, or of a file system that several machines mount.
    Files,
    /// In a bucket.
    S3,
}

/// The store of another app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AppStore {
    /// In the data folder.
    Sqlite,
}
