//! `cargo xtask cluster`: a real cluster for development.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Subcommand;
use lodge_testbed::{Cluster, Layout, Member};

use crate::{
    process,
    system::{self, FOR_CLUSTERS},
};

/// Tests use a cluster of their own on 127.N.*.* with the first unused N of these: the developer's
/// cluster is at 77, and two checkouts may be tested at once.
const BLOCKS: RangeInclusive<u8> = 78..=99;

/// A command for the cluster.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start the servers that are down.
    Up {
        /// Start only these servers, such as mariadb-1. Default: all.
        members: Vec<Member>,
    },
    /// Stop all servers, and delete their data.
    Down,
    /// Print a line for each process: its name, `up` or `down`, its id. Fails unless all are up.
    Status,
    /// Kill one process with SIGKILL.
    Kill {
        /// The process, such as redis-1.
        member: Member,
    },
    /// Start one process that is down.
    Start {
        /// The process, such as redis-1.
        member: Member,
    },
}

/// Runs the command.
pub(crate) fn run(command: &Command) -> Result<()> {
    let cluster = Cluster::of(&process::root());
    match command {
        Command::Up { members } if members.is_empty() => up(&cluster),
        Command::Up { members } => {
            system::provide(FOR_CLUSTERS)?;
            cluster.up_alone(members)
        }
        Command::Down => cluster.down(),
        Command::Status => status(&cluster),
        Command::Kill { member } => cluster.kill(*member),
        Command::Start { member } => cluster.start(*member),
    }
}

fn up(cluster: &Cluster) -> Result<()> {
    system::provide(FOR_CLUSTERS)?;
    built_lodge()?;
    let began = Instant::now();
    cluster.up()?;
    println!(
        "all up in {:.0} s; state and logs: {}",
        began.elapsed().as_secs_f64(),
        cluster.layout().root().display()
    );
    status(cluster)
}

fn status(cluster: &Cluster) -> Result<()> {
    for member in Member::all() {
        let pid = cluster.pid(member).map(|pid| pid.to_string());
        let state = if pid.is_some() { "up" } else { "down" };
        println!("{member} {state} {}", pid.as_deref().unwrap_or("-"));
    }
    let all_up = Member::all().all(|member| cluster.pid(member).is_some());
    ensure!(all_up, "some servers are down");
    Ok(())
}

/// Runs `work` on a new cluster with this Lodge, and removes the cluster afterwards.
pub(crate) fn with_own(lodge: &Path, work: impl FnOnce(&Cluster) -> Result<()>) -> Result<()> {
    let cluster = Cluster::new(Layout::in_block(&process::root(), block()?), lodge.to_owned());
    // Removes what an earlier run may have left.
    cluster.down()?;
    let done = cluster.up().and_then(|()| work(&cluster));
    done.and(cluster.down())
}

/// The configured block of addresses, or the first in which the address of redis-1 is free.
pub(crate) fn block() -> Result<u8> {
    let is_free = |block: &u8| TcpListener::bind((Ipv4Addr::new(127, *block, 1, 1), 6379)).is_ok();
    Layout::wanted_block()
        .or_else(|| BLOCKS.into_iter().find(is_free))
        .context("every block of addresses for a cluster is in use")
}

/// The command that builds Lodge in release mode: with low priority, because tests may run meanwhile.
const BUILD: [&str; 8] =
    ["-n", "19", "cargo", "build", "--release", "--locked", "--package", "lodge"];

/// Builds this checkout's Lodge in release mode.
pub(crate) fn built_lodge() -> Result<PathBuf> {
    process::run("nice", &BUILD, &[])?;
    Ok(process::root().join("target/release/lodge"))
}
