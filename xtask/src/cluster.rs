//! `cargo xtask cluster`: a real cluster for a developer to play with.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
    path::PathBuf,
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Subcommand;
use lodge_testbed::{Cluster, Layout, Member};

use crate::{
    process,
    system::{self, FOR_CLUSTERS},
};

/// Tests have a cluster of their own on 127.N.*.* with the first N of these that nobody uses: a
/// developer has one up at 77, and two checkouts may be tested at once.
const BLOCKS: RangeInclusive<u8> = 78..=99;

/// What to do with it.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Bring up what is not.
    Up {
        /// Servers that are brought up alone, such as mariadb-1; without them, all.
        members: Vec<Member>,
    },
    /// End everything, and remove what it stored.
    Down,
    /// One line a process: its name, `up` or `down`, its id; fails unless all are up.
    Status,
    /// Kill one process with SIGKILL.
    Kill {
        /// Which, such as redis-1.
        member: Member,
    },
    /// Start one process that is down.
    Start {
        /// Which, such as redis-1.
        member: Member,
    },
}

/// Does it.
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
    ensure!(all_up, "not all are up");
    Ok(())
}

/// Does `work` on a cluster of its own, of this Lodge, that is gone afterwards.
pub(crate) fn with_own(lodge: PathBuf, work: impl FnOnce(&Cluster) -> Result<()>) -> Result<()> {
    let cluster = Cluster::new(Layout::in_block(&process::root(), block()?), lodge);
    // What an earlier run may have left; its processes are gone.
    cluster.down()?;
    let done = cluster.up().and_then(|()| work(&cluster));
    done.and(cluster.down())
}

/// The block of addresses that was asked for, or one in which the first Redis server's is free.
fn block() -> Result<u8> {
    let is_free = |block: &u8| TcpListener::bind((Ipv4Addr::new(127, *block, 1, 1), 6379)).is_ok();
    Layout::wanted_block()
        .or_else(|| BLOCKS.into_iter().find(is_free))
        .context("every block of addresses for a cluster is in use")
}

/// How Lodge is built in release mode.
const BUILD: [&str; 5] = ["build", "--release", "--locked", "--package", "lodge"];

/// Builds this checkout's Lodge in release mode.
pub(crate) fn built_lodge() -> Result<PathBuf> {
    process::run("cargo", &BUILD, &[])?;
    Ok(process::root().join("target/release/lodge"))
}

/// Does `work` and meanwhile builds Lodge in release mode, from what the work leaves of the processors.
pub(crate) fn while_lodge_is_built(work: impl FnOnce() -> Result<()>) -> Result<()> {
    thread::scope(|scope| {
        let idly = ["-n", "19", "cargo"];
        let build = scope.spawn(move || process::run("nice", &[&idly[..], &BUILD].concat(), &[]));
        let done = work();
        let release = build.join().unwrap_or_else(|_| Err(anyhow!("the build panicked")));
        done.and(release)
    })
}
