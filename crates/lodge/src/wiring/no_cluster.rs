//! In the place of the scaled-out engines, where this Lodge was built without them.

use std::path::Path;

use anyhow::Result;
use lodge_domain::links::moving::Move;

use super::{engine::Engines, stores::LinkPorts};
use crate::config::{Config, stores::LinkStore};

const MISSING: &str = "links.store: this Lodge was built without the feature `cluster`";

#[expect(clippy::unused_async, reason = "in the place of one that waits")]
pub(super) async fn links(_: &Config, _: &mut Engines, _: Option<[u8; 32]>) -> Result<LinkPorts> {
    anyhow::bail!(MISSING)
}

/// There is nowhere to move to.
pub(crate) async fn moving(_: &Config, _: &Path) -> Result<(Move, bool)> {
    anyhow::bail!(MISSING)
}

/// Says that what the configuration names cannot be reached.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    if config.has_links_on(LinkStore::Cassandra) {
        vec![Err(anyhow::anyhow!(MISSING))]
    } else {
        Vec::new()
    }
}
