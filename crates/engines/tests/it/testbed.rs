//! Where the cluster is.

use std::path::Path;

use lodge_testbed::{Cluster, Kind, Layout, Member};

/// The checkout's cluster; a test on it cannot pass while what it needs is down.
pub(crate) fn layout(needed: &[Kind]) -> Layout {
    cluster(needed).layout().clone()
}

/// Where everything is, and the Redis master.
pub(crate) fn master() -> (Layout, Member) {
    let cluster = cluster(&[Kind::Redis, Kind::Sentinel]);
    (cluster.layout().clone(), cluster.redis_master().unwrap())
}

fn cluster(needed: &[Kind]) -> Cluster {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let members = needed.iter().flat_map(|kind| Member::of(*kind));
    Cluster::up_with(&workspace, members).unwrap()
}
