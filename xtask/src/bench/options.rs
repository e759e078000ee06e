//! How often and how long most benches run.

use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Alternating runs of each server.
    #[arg(long, default_value_t = 5)]
    pub(super) runs: usize,
    /// Seconds a run.
    #[arg(long, default_value_t = 8)]
    pub(super) seconds: u32,
    /// Links in the memory measurement.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) links: u32,
    /// Only the part of this name: for links hot, random, open-loop, creation, clicks, memory, overload,
    /// seeds; for the cluster hot, paths, creation, stampede, drain.
    #[arg(long)]
    pub(super) only: Option<String>,
}
