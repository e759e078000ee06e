//! The options of the command, and the parts.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use crate::bench::seeded::Store;

/// TTL in seconds of an account in the seed's cache and in Lodge's.
pub(super) const EXPIRY_S: u64 = 60;

#[derive(Debug, Args)]
pub(crate) struct ExperimentOptions {
    /// The binary of the servers and the load generator. Default: this tree's release, built first
    #[arg(long, value_name = "FILE")]
    pub(super) lodge: Option<PathBuf>,
    /// The store of the accounts. With MariaDB, they are created the first time and kept in target/bench, and cached
    /// sessions have copies in Redis
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    pub(super) store: Store,
    /// Without MariaDB: the data folder that `lodge load accounts-seed` has filled. No server may run on it
    #[arg(long, value_name = "FOLDER", requires = "tokens")]
    pub(super) data: Option<PathBuf>,
    /// The file with the sessions' tokens that it has written
    #[arg(long, value_name = "FILE", requires = "data")]
    pub(super) tokens: Option<PathBuf>,
    /// The number of accounts
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=lodge_load::SEEDED_MAX))]
    pub(super) users: u64,
    /// With MariaDB: the number of sessions that are created
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(super) sessions: u64,
    /// Length of a run, such as 10s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = lodge_load::parse_duration)]
    pub(super) duration: Duration,
    /// Runs of each row, each on new processes; the tables have their mean and deviation
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) repeat: u32,
    /// Sign-ins a second beside the reads, for the sections that only sign-ins use; 0 for none
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) sign_ins: u32,
    /// Run only this part; can be given more than once
    #[arg(long, value_enum, value_name = "PART")]
    pub(super) only: Vec<Part>,
    /// Skip the runs of this length that have been completed on this commit
    #[arg(long)]
    pub(super) resume: bool,
    /// Also write the tables to this file, after each row
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// The first of four ports on this machine that the two processes listen on
    #[arg(long, value_name = "PORT", default_value_t = 18_200, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    pub(super) port: u16,
}

/// A table: one of the seed's, or a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// 50 workers, 1,000 requests a second, no cache, by size of the pool.
    Workers50,
    /// The same with 1,000 workers.
    Workers1000,
    /// 1,000 unique users, 60 s of cache, by rate.
    Cached,
    /// Realistic traffic: Zipf's law over all accounts, with and without the cache.
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
