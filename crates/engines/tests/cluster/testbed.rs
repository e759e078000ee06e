//! Where the cluster is.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use lodge_testbed::{Cluster, Kind, Layout, Member};

/// The checkout's cluster; a test on it cannot pass while what it needs is down.
pub(crate) fn layout(needed: &[Kind]) -> Layout {
    cluster(needed).layout().clone()
}

/// Where all servers of a kind are, as `host:port`.
pub(crate) fn nodes(kind: Kind) -> Vec<String> {
    layout(&[kind]).addresses(kind).iter().map(ToString::to_string).collect()
}

/// Where everything is, and the Redis master.
fn master() -> (Layout, Member) {
    let cluster = cluster(&[Kind::Redis, Kind::Sentinel]);
    (cluster.layout().clone(), cluster.redis_master().unwrap())
}

/// Takes from Redis all keys of a prefix, as a flush does.
pub(crate) fn flush(prefix: &str) {
    let (layout, master) = master();
    let all = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
    let status = Command::new("redis-cli")
        .env("REDISCLI_AUTH", layout.secret(Kind::Redis).unwrap())
        .args(["-h", &layout.ip(master).to_string(), "EVAL", all, "0", &format!("{prefix}:*")])
        .status();
    assert!(status.unwrap().success());
}

fn cluster(needed: &[Kind]) -> Cluster {
    let workspace = workspace();
    let members = needed.iter().flat_map(|kind| Member::of(*kind));
    Cluster::up_with(&workspace, members).unwrap()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where what is made once for all servers is kept.
pub(crate) fn cache() -> PathBuf {
    Layout::of(&workspace()).cache().to_owned()
}
