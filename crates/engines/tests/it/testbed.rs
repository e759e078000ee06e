//! Where the cluster is.

use std::path::Path;

use lodge_testbed::{Cluster, Kind, Layout, Member};

/// The checkout's cluster; a test on it cannot pass while it is down.
pub(crate) fn layout(needed: Kind) -> Layout {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cluster = Cluster::new(Layout::of(&workspace.canonicalize().unwrap()), "");
    for member in Member::of(needed) {
        assert!(cluster.pid(member).is_some(), "{member} is down: cargo xtask cluster up");
    }
    cluster.layout().clone()
}
