//! The cluster of this checkout.

use std::{net::SocketAddr, path::Path};

use lodge_testbed::{Cluster, Kind, Member};
use uuid::Uuid;

use crate::server::Lodge;

/// Returns the cluster. Fails while any member is down.
pub(crate) fn cluster() -> Cluster {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    Cluster::up_with(&workspace, Member::all()).unwrap()
}

/// Returns the addresses of the web processes.
pub(crate) fn webs(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.layout().addresses(Kind::Web)
}

/// Returns a process of this test on the cluster's engines.
pub(crate) fn process_on(cluster: &Cluster) -> Lodge {
    let settings = cluster.layout().settings();
    settings.into_iter().fold(Lodge::new(), |lodge, (name, value)| lodge.with(name, &value))
}

/// Returns a unique name that starts with `name`.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{}", Uuid::now_v7().simple())
}
