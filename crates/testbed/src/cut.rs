//! Cutting one web process off from Redis, by packet rules in a chain of the cluster's own.

use std::process::Command;

use anyhow::Result;

use crate::{
    layout::Layout,
    member::{Kind, Member},
    process::run,
};

/// Drops whatever a web process sends to the hosts of Redis and its sentinels.
pub(crate) fn make(layout: &Layout, web: Member) -> Result<()> {
    let chain = layout.chain();
    let (network, group) = (layout.network(Kind::Redis), layout.group(web).to_string());
    rule(&["-N", &chain])?;
    rule(&["-A", &chain, "-d", &network, "-m", "owner", "--gid-owner", &group, "-j", "DROP"])?;
    rule(&["-I", "OUTPUT", "-j", &chain])
}

/// Takes every rule away again, if there are any.
pub(crate) fn mend(layout: &Layout) -> Result<()> {
    let chain = layout.chain();
    let is_there = rustix::process::geteuid().is_root() && rule(&["-nL", &chain]).is_ok();
    if !is_there {
        return Ok(());
    }
    // The chain may have been made and not yet joined.
    let _ = rule(&["-D", "OUTPUT", "-j", &chain]);
    rule(&["-F", &chain])?;
    rule(&["-X", &chain])
}

fn rule(arguments: &[&str]) -> Result<()> {
    run(Command::new("iptables").arg("-w").args(arguments))
}
