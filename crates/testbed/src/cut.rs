//! Network partition between one web process and Redis, by iptables rules in a chain of the cluster.

use std::process::Command;

use anyhow::Result;

use crate::{
    cluster::Cluster,
    member::{Kind, Member},
    process::run,
};

impl Cluster {
    /// Drops all packets from a web process to the hosts of Redis and its sentinels, until [`Self::heal`]. Needs root
    /// and iptables.
    pub fn cut_from_redis(&self, web: Member) -> Result<()> {
        let layout = self.layout();
        let (chain, network) = (layout.chain(), layout.network(Kind::Redis));
        let group = layout.group(web).to_string();
        rule(&["-N", &chain])?;
        rule(&["-A", &chain, "-d", &network, "-m", "owner", "--gid-owner", &group, "-j", "DROP"])?;
        rule(&["-I", "OUTPUT", "-j", &chain])
    }

    /// Removes all rules, if any. Fails if one cannot be removed.
    pub fn heal(&self) -> Result<()> {
        let chain = self.layout().chain();
        let is_there = rustix::process::geteuid().is_root() && rule(&["-nL", &chain]).is_ok();
        if !is_there {
            return Ok(());
        }
        // The chain may exist without a jump to it.
        let _ = rule(&["-D", "OUTPUT", "-j", &chain]);
        rule(&["-F", &chain])?;
        rule(&["-X", &chain])
    }
}

fn rule(arguments: &[&str]) -> Result<()> {
    run(Command::new("iptables").arg("-w").args(arguments))
}
