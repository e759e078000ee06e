//! Replaces `cluster.rs` in a build without the feature `cluster`.

use std::path::Path;

use anyhow::Result;
use lodge_domain::links::moving::Move;

use super::{engine::Engines, stores::LinkPorts};
use crate::config::{Config, stores::LinkStore};

const MISSING: &str =
    "links.store must be \"sqlite\": this binary was built without the feature `cluster`";

#[expect(clippy::unused_async, reason = "same signature as in cluster.rs")]
pub(super) async fn links(_: &Config, _: &mut Engines, _: Option<[u8; 32]>) -> Result<LinkPorts> {
    anyhow::bail!(MISSING)
}

/// Fails: a move needs Cassandra.
pub(crate) async fn moving(_: &Config, _: &Path) -> Result<(Move, bool)> {
    anyhow::bail!(MISSING)
}

/// Returns an error if the configuration uses Cassandra.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    if config.has_links_on(LinkStore::Cassandra) {
        vec![Err(anyhow::anyhow!(MISSING))]
    } else {
        Vec::new()
    }
}
