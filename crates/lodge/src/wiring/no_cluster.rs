//! In the place of the scaled-out engines, where this Lodge was built without them.

use std::path::Path;

use anyhow::Result;
use lodge_domain::links::moving::Move;

use super::Ports;
use crate::config::{Config, Store};

const MISSING: &str = "links.store: this Lodge was built without the feature `cluster`";

#[expect(clippy::unused_async, reason = "in the place of one that waits")]
pub(super) async fn ports(_: &Config) -> Result<Ports> {
    anyhow::bail!(MISSING)
}

/// There is nowhere to move to.
pub(crate) async fn moving(_: &Config, _: &Path) -> Result<(Move, bool)> {
    anyhow::bail!(MISSING)
}

/// Says that what the configuration names cannot be reached.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    match config.links.store {
        Store::Sqlite => Vec::new(),
        Store::Cassandra => vec![Err(anyhow::anyhow!(MISSING))],
    }
}
