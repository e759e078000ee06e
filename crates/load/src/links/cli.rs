//! The command line of links and accounts, before it is validated (see `plan`).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::accounts::{SEED_PASSWORD, SEEDED_MAX};
use crate::report::files::ReportFiles;
use crate::values::{RATES, number, parse_duration, word};

/// `lodge load links…` and `lodge load accounts…`.
#[derive(Debug, Clone, Subcommand)]
pub enum RequestCommand {
    /// Follow short links: GETs of existing shorts; redirects are not followed
    LinksGet(GetCommand),
    /// Create short links: each request is PUT /?short=S&long=L with a new short
    LinksPut(PutCommand),
    /// Follow and create short links at the same time; reported separately and together
    LinksMixed(MixedCommand),
    /// Read the signed-in account: GETs of /api/me with the tokens of seeded sessions
    AccountsGet(AccountsGetCommand),
    /// Sign in with a password: POSTs to /api/session for seeded accounts
    AccountsSignIn(SignInCommand),
}

/// The server, load, duration and output files of a run.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// Server, `http://host[:port][/prefix]`. Names are resolved; write IPv6 addresses in brackets.
    /// `https://` is not supported yet: use the plain listener behind the TLS proxy
    #[arg(long, value_name = "URL")]
    pub url: String,

    /// Concurrent connections; in a closed loop also the requests in flight
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: u32,

    /// Open loop: send N requests a second in total, whatever the server does, and count latency from the
    /// intended send time. Default: closed loop, each connection sends once it has its response
    #[arg(long, value_name = "N", value_parser = number(RATES))]
    pub rate: Option<f64>,

    /// Worker threads. Default: half of the cores, from 1 to 8 (the server needs cores too)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: Option<u32>,

    /// Stop after N requests over all connections
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,

    /// Stop sending after this time, such as 500ms, 10s, 2m or 1h, then wait for the requests in flight.
    /// Default without --requests: 10s
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Timeout of each request, from its sending ("timeout"). In an open loop, also of the wait between its intended time
    /// and its sending ("not sent")
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// Open a new TCP connection for every request; its connect time counts. Default: connections are opened
    /// before the clock starts, kept alive, and reopened when the server closes them
    #[arg(long)]
    pub new_connections: bool,

    /// Repeat the whole run N times and report mean and deviation over the runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Seed of the random choices (which link, read or write): the same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Prefix of the shorts that the run creates, letters and digits. Default: eight random characters, so
    /// that no two runs share a short
    #[arg(long, value_name = "TEXT", value_parser = word(32, "ASCII letters and digits", |byte| byte.is_ascii_alphanumeric()))]
    pub prefix: Option<String>,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Verify the results. Writes: after the run every acknowledged link is read back and its Location
    /// compared. Reads: the Location of every response is compared. Exit code 1 if any is missing, wrong or
    /// unreadable
    #[arg(long)]
    pub verify: bool,

    /// Write one line per request, tab-separated with a header line: start (Unix seconds with µs), late,
    /// ctime (connect), dtime (process), ttime (total) and wait (first byte) in ms, kind, result
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,

    /// The files of the report.
    #[command(flatten)]
    pub files: ReportFiles,
}

/// The links that GETs read.
#[derive(Debug, Clone, Args)]
pub struct LinkSetArgs {
    /// Existing shorts to read: a,b,c or a file with one "short" or "short target" per line.
    /// Default: the run creates links, see --links
    #[arg(long, value_name = "FILE|a,b,c", conflicts_with = "links")]
    pub shorts: Option<String>,

    /// Create N links first (not measured), then read them at random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub links: u64,
}

/// `lodge load links-get`.
#[derive(Debug, Clone, Args)]
pub struct GetCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// The links to read.
    #[command(flatten)]
    pub set: LinkSetArgs,

    /// Path of a request; {short} stands for the short. A path without {short} works with any server:
    /// --path /index.html --expect 200
    #[arg(long, value_name = "TEMPLATE", default_value = "/{short}")]
    pub path: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "301,302,303,307,308", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,

    /// Send HEAD instead of GET
    #[arg(long)]
    pub head: bool,
}

/// `lodge load links-put`.
#[derive(Debug, Clone, Args)]
pub struct PutCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Path of a request; {short} and {long} stand for the short and its target
    #[arg(long, value_name = "TEMPLATE", default_value = "/?short={short}&long={long}")]
    pub path: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200,201", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,

    /// Send the same short and target every time, as one published run did. Default: every short is new
    #[arg(long)]
    pub same_pair: bool,
}

/// `lodge load links-mixed`.
#[derive(Debug, Clone, Args)]
pub struct MixedCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Share of writes among the requests, 0 to 1, chosen at random
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = number(0.0..=1.0), conflicts_with_all = ["get_rate", "put_rate"])]
    pub write_share: f64,

    /// Open loop for reads: N a second, on separate connections
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "put_rate", conflicts_with = "rate")]
    pub get_rate: Option<f64>,

    /// Open loop for writes: N a second, on separate connections
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "get_rate")]
    pub put_rate: Option<f64>,

    /// With --get-rate and --put-rate: connections for the writes, so that a slow write never delays a
    /// read. Default: a quarter of the connections, at least 1
    #[arg(long, value_name = "N", requires = "put_rate", value_parser = clap::value_parser!(u32).range(1..))]
    pub put_connections: Option<u32>,

    /// The links to read.
    #[command(flatten)]
    pub set: LinkSetArgs,

    /// Path of a GET; {short} stands for the short
    #[arg(long, value_name = "TEMPLATE", default_value = "/{short}")]
    pub get_path: String,

    /// Path of a PUT; {short} and {long} stand for the short and its target
    #[arg(long, value_name = "TEMPLATE", default_value = "/?short={short}&long={long}")]
    pub put_path: String,

    /// Status codes of a GET that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "301,302,303,307,308", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub get_expect: Vec<u16>,

    /// Status codes of a PUT that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200,201", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub put_expect: Vec<u16>,
}

/// `lodge load accounts-get`.
#[derive(Debug, Clone, Args)]
pub struct AccountsGetCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// File of session tokens, one a line, as accounts-seed writes it; drawn uniformly without --zipf
    #[arg(long, value_name = "FILE")]
    pub tokens: PathBuf,

    /// Use only the first N tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sessions: Option<u64>,

    /// Draw users by Zipf's law: the r-th user in proportion to 1 / r^EXPONENT. Users with a token come
    /// first
    #[arg(long, value_name = "EXPONENT", value_parser = number(0.0..=10.0))]
    pub zipf: Option<f64>,

    /// With --zipf: total number of users (seeded accounts). For a user without a token the request is
    /// GET /api/users/NAME, the public profile. Default: the number of tokens
    #[arg(long, value_name = "N", requires = "zipf", value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    pub users: Option<u64>,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,
}

/// `lodge load accounts-sign-in`.
#[derive(Debug, Clone, Args)]
pub struct SignInCommand {
    /// Options that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Number of seeded accounts; each request signs in one of them, drawn at random
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    pub users: u64,

    /// Password of the accounts
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    pub password: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,
}

impl RequestCommand {
    /// Returns the command's name and the shared options.
    pub(crate) fn common(&self) -> (&'static str, &CommonArgs) {
        match self {
            Self::LinksGet(get) => ("links-get", &get.common),
            Self::LinksPut(put) => ("links-put", &put.common),
            Self::LinksMixed(mixed) => ("links-mixed", &mixed.common),
            Self::AccountsGet(get) => ("accounts-get", &get.common),
            Self::AccountsSignIn(sign_in) => ("accounts-sign-in", &sign_in.common),
        }
    }
}
