//! The checkout's cluster.

use std::{net::SocketAddr, path::Path};

use lodge_testbed::{Cluster, Kind, Member};
use uuid::Uuid;

use crate::server::Lodge;

/// The cluster; a test on it cannot pass while any of it is down.
pub(crate) fn cluster() -> Cluster {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    Cluster::up_with(&workspace, Member::all()).unwrap()
}

/// Where the web processes listen.
pub(crate) fn webs(cluster: &Cluster) -> Vec<SocketAddr> {
    cluster.layout().addresses(Kind::Web)
}

/// A process of the tests' own on the cluster's engines.
pub(crate) fn on(cluster: &Cluster) -> Lodge {
    let settings = cluster.layout().settings();
    settings.into_iter().fold(Lodge::new(), |lodge, (name, value)| lodge.with(name, &value))
}

/// A short that no other test has.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{}", Uuid::now_v7().simple())
}
