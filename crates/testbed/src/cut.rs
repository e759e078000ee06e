//! Network partitions, by iptables rules in a chain of the cluster.

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
        self.drop_packets(&[&self.sent_by(web, Kind::Redis)])
    }

    /// Drops all packets between a Galera node and the other nodes and clients, until [`Self::heal`]. Needs root and
    /// iptables.
    pub fn cut_off(&self, node: Member) -> Result<()> {
        let ip = self.layout().ip(node).to_string();
        let [to, from] = ["-d", "-s"].map(|end| [end.to_owned(), ip.clone()]);
        self.drop_packets(&[&to, &from, &self.sent_by(node, node.kind)])
    }

    /// Returns the condition for packets of a process to the hosts of a kind.
    fn sent_by(&self, member: Member, to: Kind) -> [String; 6] {
        let layout = self.layout();
        let (network, group) = (layout.network(to), layout.group(member).to_string());
        ["-d", &network, "-m", "owner", "--gid-owner", &group].map(ToOwned::to_owned)
    }

    /// Drops the packets that fulfil one of these conditions.
    fn drop_packets(&self, conditions: &[&[String]]) -> Result<()> {
        let chain = self.layout().chain();
        rule(&["-N", &chain])?;
        for condition in conditions {
            let condition = condition.iter().map(String::as_str);
            let drop: Vec<&str> = ["-A", &chain].into_iter().chain(condition).collect();
            rule(&[&drop[..], &["-j", "DROP"]].concat())?;
        }
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
