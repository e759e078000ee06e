//! What every part needs: its options, and a process that serves accounts.

use anyhow::{Result, ensure};
use clap::Args;

use super::{
    super::{options::Options, servers},
    seeded::Seeded,
};
use crate::process::Running;

#[derive(Args)]
pub(crate) struct AccountsOptions {
    /// Alternating runs of each.
    #[arg(long, default_value_t = 5)]
    pub(super) runs: usize,
    /// Seconds a run.
    #[arg(long, default_value_t = 8)]
    pub(super) seconds: u32,
    /// Accounts in the folder; it is made the first time, in minutes, and kept in target/bench.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) users: u64,
    /// Live sessions in it, of accounts drawn at random.
    #[arg(long, default_value_t = 100_000)]
    pub(super) sessions: u64,
    /// Names of each kind whose sign-ins are timed.
    #[arg(long, default_value_t = 400)]
    pub(super) names: u64,
    /// To see that it works: one short run of each on a small folder. Its figures mean nothing.
    #[arg(long)]
    pub(super) quick: bool,
    /// Only the part of this name: size, reads, saturation, busy, sign-ins, lookups, timing.
    #[arg(long)]
    pub(super) only: Option<String>,
}

impl AccountsOptions {
    /// As they are meant.
    pub(super) fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, users: 20_000, sessions: 2_000, names: 20, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// Fails where a bar does not hold; in a quick run none is looked at.
    pub(super) fn bar(&self, bar: &str, holds: bool) -> Result<()> {
        ensure!(self.quick || holds, "the bar is not kept: {bar}");
        Ok(())
    }

    /// What the runs of `lodge load` take.
    pub(super) fn of_load(&self) -> Options {
        Options { runs: self.runs, seconds: self.seconds, links: 0, only: None }
    }
}

/// The settings of a process that serves accounts alone.
pub(super) fn settings() -> Vec<(&'static str, String)> {
    vec![("LODGE_APPS", "accounts".to_owned())]
}

/// Both roles in one process, on a seeded folder.
pub(super) fn start(scratch: &servers::Scratch, seeded: &Seeded) -> Result<Running> {
    // A whole path stays as it is beneath the scratch.
    servers::start_lodge_with(scratch, &seeded.data.display().to_string(), &settings())
}
