//! The command line of the rides' commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::ride::Ranges;
use crate::engine::exchange::RETRIES;
use crate::values::{RATES, number, parse_duration};

/// `lodge load rides…`.
#[derive(Debug, Clone, Subcommand)]
pub enum RidesCommand {
    /// Record lift rides one by one, as the course's client does: POSTs in two phases, each event with an
    /// id of its own, up to 5 retries with the same id
    Rides(RidesPostCommand),
    /// Record lift rides many at a time: POSTs of JSON lines to /api/rides
    RidesBatch(RidesBatchCommand),
    /// Ask for what was recorded: skiers of a day, vertical of a skier's day, vertical of a skier
    RidesGet(RidesGetCommand),
}

impl RidesCommand {
    /// The name as typed, and the arguments that every one of them has.
    pub(crate) fn common(&self) -> (&'static str, &RidesArgs) {
        match self {
            Self::Rides(post) => ("rides", &post.args),
            Self::RidesBatch(batch) => ("rides-batch", &batch.args),
            Self::RidesGet(get) => ("rides-get", &get.args),
        }
    }

    /// Whether what was acknowledged is to be read back.
    pub(crate) fn verify(&self) -> bool {
        match self {
            Self::Rides(post) => post.verify,
            Self::RidesBatch(batch) => batch.verify,
            Self::RidesGet(_) => false,
        }
    }
}

/// Where to, which rides, and where the figures go.
#[derive(Debug, Clone, Args)]
pub struct RidesArgs {
    /// The server, `http://host[:port][/prefix]`
    #[arg(long, value_name = "URL")]
    pub url: String,

    /// Which rides.
    #[command(flatten)]
    pub ranges: Ranges,

    /// Seed of the random choices: the same seed draws the same rides. The ids of events are always new
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Deadline of each try: to be answered, counted from its sending; in an open loop also to be sent,
    /// counted from its intended time (past it: "not sent")
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// Threads of this process, over which the connections are spread. Default: half of the cores, at
    /// least 1, at most 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Write the whole report as JSON, with a time series of one-second windows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `lodge load rides`.
#[derive(Debug, Clone, Args)]
pub struct RidesPostCommand {
    /// Everything that the commands of rides share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Events in all, each a ride that is to be counted once
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "duration")]
    pub events: u64,

    /// Connections open at once, after the first phase
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub threads: u32,

    /// Connections of the first phase, which is over after 1,000 events for each; 0: no first phase
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(0..=60_000), conflicts_with = "rate")]
    pub first_threads: u32,

    /// Open loop: send N events a second, whatever the server does, in one phase, and count latency from
    /// the intended send time. Default: closed loop, each connection sends when it has its answer
    #[arg(long, value_name = "N", value_parser = number(RATES))]
    pub rate: Option<f64>,

    /// With --rate: stop sending after this long, like 500ms, 10s, 2m, 1h, and not after --events
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, requires = "rate")]
    pub duration: Option<Duration>,

    /// How often an event is sent again, with the same id, while it is answered with 5xx or not at all
    #[arg(long, value_name = "N", default_value_t = RETRIES, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub retries: u32,

    /// Send so many percent of the acknowledged events once more on purpose, under the same id: they must
    /// be answered as replayed and change nothing. They are in no figure
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number(0.0..=90.0))]
    pub repeat_percent: f64,

    /// Prove that every acknowledged event was counted once: the vertical of every skier's day that the run
    /// touched, the skiers of every resort's day, and what the ledger says was stored. Events of unknown
    /// outcome are sent once more, under their ids. The day must be one that nobody has used, and nobody
    /// else may record rides meanwhile. Exit code 1 when anything differs, or an outcome stays unknown
    #[arg(long)]
    pub verify: bool,
}

/// How the lines of a batch are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// As they are.
    None,
    /// By gzip.
    Gzip,
    /// By Zstandard.
    Zstd,
}

/// `lodge load rides-batch`.
#[derive(Debug, Clone, Args)]
pub struct RidesBatchCommand {
    /// Everything that the commands of rides share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Events in all, each a ride that is to be counted once
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub events: u64,

    /// Lines of a batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub lines: u32,

    /// Connections open at once, each with one batch under way
    #[arg(long, short = 'c', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// How the lines are packed
    #[arg(long, value_enum, default_value_t = Compress::None)]
    pub compress: Compress,

    /// Of each batch, so many percent of the lines are acknowledged events of the connection's batch
    /// before, sent once more on purpose: they must be answered as replayed and change nothing
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number(0.0..=90.0))]
    pub repeat_percent: f64,

    /// Prove that every acknowledged event was counted once; see `lodge load rides --help`
    #[arg(long)]
    pub verify: bool,
}

/// `lodge load rides-get`.
#[derive(Debug, Clone, Args)]
pub struct RidesGetCommand {
    /// Everything that the commands of rides share.
    #[command(flatten)]
    pub args: RidesArgs,

    /// Requests of each of the three kinds, for each number of clients
    #[arg(long, value_name = "N", default_value_t = 64_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "duration")]
    pub samples: u64,

    /// Numbers of connections, one run after the other; an open loop has as many as the first says
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [128, 300, 400], value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub clients: Vec<u32>,

    /// Open loop: the three kinds at random, N requests a second together, whatever the server does, and
    /// latency counted from the intended send time. Default: closed loop, one kind after the other
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "duration")]
    pub rate: Option<f64>,

    /// With --rate: stop sending after this long, like 500ms, 10s, 2m, 1h
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, requires = "rate")]
    pub duration: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn what_is_not_said_is_as_the_course_has_it() {
        let command = |line: &str| *parse::<Box<RidesCommand>>(line).unwrap();
        let RidesCommand::Rides(post) = command("rides --url http://x") else { panic!() };
        assert_eq!((post.events, post.first_threads, post.threads), (200_000, 32, 100));
        let RidesCommand::RidesGet(get) = command("rides-get --url http://x") else { panic!() };
        assert_eq!((get.samples, get.clients), (64_000, vec![128, 300, 400]));
    }
}
