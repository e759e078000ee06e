//! `cargo xtask cluster`: a real cluster for a developer to play with.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Subcommand;
use lodge_testbed::{Cluster, Member};

use crate::{
    process,
    system::{self, FOR_CLUSTERS},
};

/// What to do with it.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Bring up what is not.
    Up,
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
        Command::Up => up(&cluster),
        Command::Down => cluster.down(),
        Command::Status => status(&cluster),
        Command::Kill { member } => cluster.kill(*member),
        Command::Start { member } => cluster.start(*member),
    }
}

fn up(cluster: &Cluster) -> Result<()> {
    system::provide(&FOR_CLUSTERS)?;
    process::run("cargo", &["build", "--release", "--locked", "--package", "lodge"], &[])?;
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
