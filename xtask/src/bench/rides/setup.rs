//! What every part needs: its options, and a process that serves rides.

use anyhow::{Result, ensure};
use clap::Args;
use serde_json::Value;

use super::super::{
    links::load,
    options::Options,
    servers::{self, Scratch},
};
use crate::process::Running;

#[derive(Args)]
pub(crate) struct RidesOptions {
    /// Runs of each.
    #[arg(long, default_value_t = 5)]
    pub(super) runs: usize,
    /// Seconds of each run at a rate.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u32,
    /// Rides stored where the mountain is said to be full.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) rides: u64,
    /// To see that it works: one short run of each on few rides. Its figures mean nothing.
    #[arg(long)]
    pub(super) quick: bool,
    /// Only the part of this name: single, batches, open-loop, reads, busy-reads, growth, overload.
    #[arg(long)]
    pub(super) only: Option<String>,
}

impl RidesOptions {
    /// As they are meant.
    pub(super) fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, rides: 200_000, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// So many rides, or a few in a quick run.
    pub(super) fn events(&self, events: u64) -> u64 {
        if self.quick { events / 20 } else { events }
    }

    /// Fails where a bar does not hold; in a quick run none is looked at.
    pub(super) fn bar(&self, bar: &str, holds: bool) -> Result<()> {
        ensure!(self.quick || holds, "the bar is not kept: {bar}");
        Ok(())
    }
}

/// Rides alone, on a folder of the scratch.
pub(super) fn start(scratch: &Scratch) -> Result<Running> {
    start_with(scratch, &[])
}

/// The same with these settings.
pub(super) fn start_with(scratch: &Scratch, settings: &[(&str, String)]) -> Result<Running> {
    let settings = [&[("LODGE_APPS", "rides".to_owned())], settings].concat();
    servers::start_lodge_with(scratch, "rides", &settings)
}

/// A run of `lodge load` for the options' seconds; its report.
pub(super) fn load_for(
    scratch: &Scratch,
    options: &RidesOptions,
    arguments: &[&str],
) -> Result<Value> {
    let of_load = Options { runs: options.runs, seconds: options.seconds, links: 0, only: None };
    load(scratch, &of_load, arguments)
}
