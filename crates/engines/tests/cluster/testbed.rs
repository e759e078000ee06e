//! Access to the checkout's cluster.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use lodge_testbed::{Cluster, Kind, Layout, Member};

/// The layout of the checkout's cluster, with the needed servers running.
pub(crate) fn layout(needed: &[Kind]) -> Layout {
    cluster(needed).layout().clone()
}

/// The addresses of all servers of a kind, as `host:port`.
pub(crate) fn nodes(kind: Kind) -> Vec<String> {
    layout(&[kind]).addresses(kind).iter().map(ToString::to_string).collect()
}

/// The layout, and the current Redis master.
fn master() -> (Layout, Member) {
    let cluster = cluster(&[Kind::Redis, Kind::Sentinel]);
    (cluster.layout().clone(), cluster.redis_master().unwrap())
}

/// Deletes all keys of a prefix from Redis, as a flush does.
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

/// The root of the checkout.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folder for files that are created once for all servers.
pub(crate) fn cache() -> PathBuf {
    Layout::of(&workspace()).cache().to_owned()
}
