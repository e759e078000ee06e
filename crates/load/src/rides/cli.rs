//! The command line of `lodge load rides…`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::ride::Ranges;
use crate::engine::exchange::RETRIES;
use crate::report::files::ReportFiles;
use crate::values::{RATES, number, parse_duration};

/// `lodge load rides…`.
#[derive(Debug, Clone, Subcommand)]
pub enum RidesCommand {
    /// Record lift rides one by one, as the course's client does: POSTs in two phases, each event with its
    /// own id, up to 5 retries with the same id
    Rides(RidesPostCommand),
    /// Record lift rides in batches: POSTs of JSON lines to /api/rides
    RidesBatch(RidesBatchCommand),
    /// Read recorded rides: skiers of a day, vertical of a skier's day, vertical of a skier
    RidesGet(RidesGetCommand),
}

impl RidesCommand {
    /// Returns the command's name and the shared options.
    pub(crate) fn common(&self) -> (&'static str, &RidesArgs) {
        match self {
            Self::Rides(post) => ("rides", &post.args),
            Self::RidesBatch(batch) => ("rides-batch", &batch.args),
            Self::RidesGet(get) => ("rides-get", &get.args),
        }
    }

    /// Returns whether `--verify` was given.
    pub(crate) fn verify(&self) -> bool {
        match self {
            Self::Rides(post) => post.verify,
            Self::RidesBatch(batch) => batch.verify,
            Self::RidesGet(_) => false,
        }
    }
}

/// The server, the rides and the output files of a run.
#[derive(Debug, Clone, Args)]
pub struct RidesArgs {
    /// Server, `http://host[:port][/prefix]`
    #[arg(long, value_name = "URL")]
    pub url: String,

    /// The ranges that rides are drawn from.
    #[command(flatten)]
    pub ranges: Ranges,

    /// Seed of the random choices: the same seed draws the same rides. Event ids are always new
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Timeout of each try, counted from its sending; in an open loop an event that is not sent this long
    /// after its intended time counts as "not sent"
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// Threads of this process, over which the connections are spread. Default: half of the cores, from
    /// 1 to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// The files of the report.
    #[command(flatten)]
    pub files: ReportFiles,
}

/// `lodge load rides`.
#[derive(Debug, Clone, Args)]
pub struct RidesPostCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Total number of events; each is a ride that must be counted once
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "duration")]
    pub events: u64,

    /// Concurrent connections after the first phase
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub threads: u32,

    /// Connections of the first phase, which ends after 1,000 events for each; 0: no first phase
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=60_000), conflicts_with = "rate")]
    pub first_threads: u32,

    /// Open loop: send N events a second in one phase, whatever the server does, and count latency from the
    /// intended send time. Default: closed loop, each connection sends once it has its response
    #[arg(long, value_name = "N", value_parser = number(RATES))]
    pub rate: Option<f64>,

    /// With --rate: stop sending after this time, such as 500ms, 10s, 2m or 1h, instead of after --events
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, requires = "rate")]
    pub duration: Option<Duration>,

    /// Retries of an event, with the same id, after 5xx or no response
    #[arg(long, value_name = "N", default_value_t = RETRIES, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub retries: u32,

    /// Repeat this percentage of the acknowledged events with the same id: the server must answer them as
    /// replayed and change nothing. Repeats are not measured
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number(0.0..=90.0))]
    pub repeat_percent: f64,

    /// Verify that every acknowledged event was counted once, by the vertical of every skier's day that the
    /// run touched, the skiers of every resort's day, and the ledger's count of stored rides. Events of
    /// unknown outcome are sent again with their ids. The day must have no rides before the run, and no other
    /// client may record rides meanwhile. Exit code 1 on any difference or if an outcome stays unknown
    #[arg(long)]
    pub verify: bool,
}

/// The compression of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// No compression
    None,
    /// gzip
    Gzip,
    /// Zstandard
    Zstd,
}

/// `lodge load rides-batch`.
#[derive(Debug, Clone, Args)]
pub struct RidesBatchCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Total number of events; each is a ride that must be counted once
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub events: u64,

    /// Lines in a batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub lines: u32,

    /// Concurrent connections, each with one batch in flight
    #[arg(long, short = 'c', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// Compression of the batches
    #[arg(long, value_enum, default_value_t = Compress::None)]
    pub compress: Compress,

    /// Fill this percentage of each batch with acknowledged events of the connection's previous batch: the
    /// server must answer them as replayed and change nothing
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number(0.0..=90.0))]
    pub repeat_percent: f64,

    /// Verify that every acknowledged event was counted once; see `lodge load rides --help`
    #[arg(long)]
    pub verify: bool,
}

/// `lodge load rides-get`.
#[derive(Debug, Clone, Args)]
pub struct RidesGetCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Requests of each of the three kinds, per number of clients
    #[arg(long, value_name = "N", default_value_t = 64_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "duration")]
    pub samples: u64,

    /// Numbers of connections, one run after another; an open loop uses the first only
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [128, 300, 400], value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub clients: Vec<u32>,

    /// Open loop: send N requests a second of the three kinds at random, whatever the server does, and count
    /// latency from the intended send time. Default: closed loop, one kind after another
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "duration")]
    pub rate: Option<f64>,

    /// With --rate: stop sending after this time, such as 500ms, 10s, 2m or 1h
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, requires = "rate")]
    pub duration: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn the_defaults_are_those_of_the_course() {
        let command = |line: &str| *parse::<Box<RidesCommand>>(line).unwrap();
        let RidesCommand::Rides(post) = command("rides --url http://x") else { panic!() };
        assert_eq!((post.events, post.first_threads, post.threads), (200_000, 32, 100));
        let RidesCommand::RidesGet(get) = command("rides-get --url http://x") else { panic!() };
        assert_eq!((get.samples, get.clients), (64_000, vec![128, 300, 400]));
    }
}
