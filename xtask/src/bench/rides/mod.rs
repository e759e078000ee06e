//! Lift rides: recorded one by one and many at a time, and asked for.

mod growth;
mod overload;
mod reads;
mod writes;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use super::{
    Options,
    links::{load, load_to_its_end},
    servers::{self, Scratch},
};
use crate::process::Running;

#[derive(Args)]
pub(crate) struct RidesOptions {
    /// Runs of each.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds of each run at a rate.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Rides stored where the mountain is said to be full.
    #[arg(long, default_value_t = 10_000_000)]
    rides: u64,
    /// To see that it works: one short run of each on few rides. Its figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Only the part of this name: single, batches, open-loop, reads, busy-reads, growth, overload.
    #[arg(long)]
    only: Option<String>,
}

impl RidesOptions {
    /// As they are meant.
    fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, rides: 200_000, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// So many rides, or a few in a quick run.
    fn events(&self, events: u64) -> u64 {
        if self.quick { events / 20 } else { events }
    }

    /// Fails where a bar does not hold; in a quick run none is looked at.
    fn bar(&self, bar: &str, holds: bool) -> Result<()> {
        ensure!(self.quick || holds, "the bar is not kept: {bar}");
        Ok(())
    }
}

type Part = fn(&RidesOptions) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &RidesOptions) -> Result<()> {
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 7] = [
        ("single", writes::single),
        ("batches", writes::batches),
        ("open-loop", writes::open_loop),
        ("reads", reads::alone),
        ("busy-reads", reads::beside_posting),
        ("growth", growth::grown),
        ("overload", overload::overload),
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

/// Rides alone, on a folder of the scratch.
fn start(scratch: &Scratch) -> Result<Running> {
    start_with(scratch, &[])
}

/// The same with these settings.
fn start_with(scratch: &Scratch, settings: &[(&str, String)]) -> Result<Running> {
    let settings = [&[("LODGE_APPS", "rides".to_owned())], settings].concat();
    servers::start_lodge_with(scratch, "rides", &settings)
}

/// A run of `lodge load` for the options' seconds; its report.
fn load_for(scratch: &Scratch, options: &RidesOptions, arguments: &[&str]) -> Result<Value> {
    let of_load = Options { runs: options.runs, seconds: options.seconds, links: 0, only: None };
    load(scratch, &of_load, arguments)
}
