//! Accounts: reads with a token, sign-ins, and what a sign-in tells by its time.

pub(super) mod reads;
mod seeded;
mod sign_ins;
mod timing;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::{Options, servers};
use crate::{
    process,
    system::{self, FOR_BENCHES},
};

#[derive(Args)]
pub(crate) struct AccountsOptions {
    /// Alternating runs of each.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds a run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// Accounts in the folder; it is made the first time, in minutes, and kept in target/bench.
    #[arg(long, default_value_t = 10_000_000)]
    users: u64,
    /// Live sessions in it, of accounts drawn at random.
    #[arg(long, default_value_t = 100_000)]
    sessions: u64,
    /// Names of each kind whose sign-ins are timed.
    #[arg(long, default_value_t = 400)]
    names: u64,
    /// To see that it works: one short run of each on a small folder. Its figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Only the part of this name: size, reads, saturation, busy, sign-ins, lookups, timing.
    #[arg(long)]
    only: Option<String>,
}

impl AccountsOptions {
    /// As they are meant.
    fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, users: 20_000, sessions: 2_000, names: 20, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// Fails where a bar does not hold; in a quick run none is looked at.
    fn bar(&self, bar: &str, holds: bool) -> Result<()> {
        ensure!(self.quick || holds, "the bar is not kept: {bar}");
        Ok(())
    }

    /// What the runs of `lodge load` take.
    fn of_load(&self) -> Options {
        Options { runs: self.runs, seconds: self.seconds, links: 0, only: None }
    }
}

type Part = fn(&AccountsOptions) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &AccountsOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 7] = [
        ("size", seeded::size),
        ("reads", reads::open_loop),
        ("saturation", reads::saturation),
        ("busy", reads::busy),
        ("sign-ins", sign_ins::per_cpu_second),
        ("lookups", timing::lookups),
        ("timing", timing::kinds),
    ];
    let mut not_kept = Vec::new();
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name)
            && let Err(error) = part(&options).with_context(|| format!("the part {name}"))
        {
            eprintln!("{error:?}");
            not_kept.push(name);
        }
    }
    ensure!(not_kept.is_empty(), "not kept: {}", not_kept.join(", "));
    Ok(())
}

/// The settings of a process that serves accounts alone.
fn settings() -> Vec<(&'static str, String)> {
    vec![("LODGE_APPS", "accounts".to_owned())]
}

/// Both roles in one process, on a seeded folder.
fn start(scratch: &servers::Scratch, seeded: &seeded::Seeded) -> Result<process::Running> {
    // A whole path stays as it is beneath the scratch.
    servers::start_lodge_with(scratch, &seeded.data.display().to_string(), &settings())
}
