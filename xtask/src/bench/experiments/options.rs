//! What is run, and how: the command line, and the parts it chooses from.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

/// Seconds that the seed's cache, and ours, remembers somebody.
pub(super) const EXPIRY_S: u64 = 60;

#[derive(Debug, Args)]
pub(crate) struct ExperimentOptions {
    /// The binary that serves and puts the load on it. Default: the release of this tree, built first
    #[arg(long, value_name = "FILE")]
    pub(super) lodge: Option<PathBuf>,
    /// The data folder that `lodge load accounts-seed` has filled. No server may run on it
    #[arg(long, value_name = "FOLDER")]
    pub(super) data: PathBuf,
    /// The file with the sessions' tokens, which it has made
    #[arg(long, value_name = "FILE")]
    pub(super) tokens: PathBuf,
    /// The accounts that it made
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=lodge_load::SEEDED_MAX))]
    pub(super) users: u64,
    /// How long a run lasts, like 10s, 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = lodge_load::parse_duration)]
    pub(super) duration: Duration,
    /// Runs of each row, each on processes that have just started; their mean and deviation are told
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) repeat: u32,
    /// Sign-ins a second beside the reads, for the sections that only they go through; 0: none
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) sign_ins: u32,
    /// Only this part; can be given more than once
    #[arg(long, value_enum, value_name = "PART")]
    pub(super) only: Vec<Part>,
    /// A file for the tables as well, written anew after each row
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// The first of four ports on this machine that the two processes listen on
    #[arg(long, value_name = "PORT", default_value_t = 18_200, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    pub(super) port: u16,
}

/// A table of the seed's, or one that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// 50 workers, 1,000 requests a second, no cache, by size of the pool.
    Workers50,
    /// The same with 1,000 workers.
    Workers1000,
    /// 1,000 unique users, 60 s of cache, by rate.
    Cached,
    /// As people behave: Zipf's law over all accounts, with and without the cache.
    Realistic,
}

impl Part {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Workers50 => "50 workers, 1,000 requests a second, no cache",
            Self::Workers1000 => "1,000 workers, 1,000 requests a second, no cache",
            Self::Cached => "1,000 unique users, 60 s of cache",
            Self::Realistic => "Zipf's law over all accounts, 2,000 requests a second",
        }
    }
}
