//! The command line of links and accounts: what a person types, before it is checked (see `plan`).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::accounts::{SEED_PASSWORD, SEEDED_MAX};
use crate::values::{RATES, number, parse_duration, word};

/// `lodge load links…` and `lodge load accounts…`: which requests to make.
#[derive(Debug, Clone, Subcommand)]
pub enum RequestCommand {
    /// Follow short links: GETs of existing shorts; the redirect is the answer and is not followed
    LinksGet(GetCommand),
    /// Create short links: each request is PUT /?short=S&long=L with a short of its own
    LinksPut(PutCommand),
    /// Follow and create at the same time; both are reported apart and together
    LinksMixed(MixedCommand),
    /// Ask who is signed in: GETs of /api/me with the tokens of seeded sessions
    AccountsGet(AccountsGetCommand),
    /// Sign in with a password: POSTs of the names of seeded accounts
    AccountsSignIn(SignInCommand),
}

/// Where to, how hard, for how long, and where the figures go.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// The server, `http://host[:port][/prefix]`. Names are resolved, IPv6 goes in brackets.
    /// `https://` is refused for now: point it at the plain listener behind the TLS end
    #[arg(long, value_name = "URL")]
    pub url: String,

    /// Connections open at once; in a closed loop also the requests under way at once
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: u32,

    /// Open loop: send N requests a second in total, whatever the server does, and count latency
    /// from the intended send time. Default: closed loop, each connection sends when it has its answer
    #[arg(long, value_name = "N", value_parser = number(RATES))]
    pub rate: Option<f64>,

    /// Worker threads. Default: half of the cores, at least 1, at most 8 (the server needs cores too)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: Option<u32>,

    /// Stop after N requests, all connections together
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,

    /// Stop sending after this long, like 500ms, 10s, 2m, 1h; answers under way are awaited. Default, without --requests: 10s
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Deadline of each request: to be sent, counted from its intended time (past it: "not sent"), and
    /// to be answered, counted from its sending (past it: "timeout")
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// A new TCP connection for every request; its connect time counts. Default: connections are
    /// dialled before the clock starts, kept, and dialled again when the server closes them
    #[arg(long)]
    pub new_connections: bool,

    /// Make the whole run N times and report mean and deviation over the runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Seed of the random choices (which link, read or write): the same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// First characters of the shorts this run creates, letters and digits. Default: eight at random, so that runs never meet
    #[arg(long, value_name = "TEXT", value_parser = word(32, "ASCII letters and digits", |byte| byte.is_ascii_alphanumeric()))]
    pub prefix: Option<String>,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Check correctness too. Writes: after the run every acknowledged link is read back and its
    /// Location compared. Reads: the Location of every answer is compared. Exit code 1 when any is
    /// missing, wrong or unreadable
    #[arg(long)]
    pub verify: bool,

    /// Write one line per request, tab separated with a header: start (unix seconds with µs), late,
    /// ctime (connect), dtime (process), ttime (total) and wait (first byte) in ms, kind, result
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,

    /// Write the whole report as JSON, with a time series of one-second windows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the report as one self-contained HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// What the GETs ask for.
#[derive(Debug, Clone, Args)]
pub struct LinkSetArgs {
    /// Existing shorts to read: a,b,c or a file with one "short" or "short target" per line.
    /// Default: the run creates its own, see --links
    #[arg(long, value_name = "FILE|a,b,c", conflicts_with = "links")]
    pub shorts: Option<String>,

    /// Create N links first (not in the figures), then read them at random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub links: u64,
}

/// `lodge load links-get`.
#[derive(Debug, Clone, Args)]
pub struct GetCommand {
    /// Everything that the three commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// What to read.
    #[command(flatten)]
    pub set: LinkSetArgs,

    /// Path of a request; {short} stands for the short. Without it any server will do: --path /index.html --expect 200
    #[arg(long, value_name = "TEMPLATE", default_value = "/{short}")]
    pub path: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "301,302,303,307,308", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,

    /// Send HEAD in place of GET
    #[arg(long)]
    pub head: bool,
}

/// `lodge load links-put`.
#[derive(Debug, Clone, Args)]
pub struct PutCommand {
    /// Everything that the three commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Path of a request; {short} and {long} stand for the short and its target
    #[arg(long, value_name = "TEMPLATE", default_value = "/?short={short}&long={long}")]
    pub path: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200,201", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,

    /// Send one and the same pair every time, as CSC409's recorded write run did. Default: every short is new
    #[arg(long)]
    pub same_pair: bool,
}

/// `lodge load links-mixed`.
#[derive(Debug, Clone, Args)]
pub struct MixedCommand {
    /// Everything that the three commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Part of the requests that are writes, 0 to 1, chosen at random
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = number(0.0..=1.0), conflicts_with_all = ["get_rate", "put_rate"])]
    pub write_share: f64,

    /// Open loop of the reads alone: N a second, on connections of their own
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "put_rate", conflicts_with = "rate")]
    pub get_rate: Option<f64>,

    /// Open loop of the writes alone: N a second, on connections of their own
    #[arg(long, value_name = "N", value_parser = number(RATES), requires = "get_rate")]
    pub put_rate: Option<f64>,

    /// With --get-rate and --put-rate: how many of the connections carry the writes, so that a slow
    /// write never delays the sending of a read. Default: a quarter, at least 1
    #[arg(long, value_name = "N", requires = "put_rate", value_parser = clap::value_parser!(u32).range(1..))]
    pub put_connections: Option<u32>,

    /// What to read.
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
    /// Everything that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// The sessions' tokens, one a line, as accounts-seed writes them; each is as likely as the others
    #[arg(long, value_name = "FILE")]
    pub tokens: PathBuf,

    /// Use only the first N of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sessions: Option<u64>,

    /// Draw people by Zipf's law: the r-th is met in proportion to 1 / r^EXPONENT. Those to whom the
    /// tokens belong come first
    #[arg(long, value_name = "EXPONENT", value_parser = number(0.0..=10.0))]
    pub zipf: Option<f64>,

    /// With --zipf: people in all, seeded accounts. Whoever has no token is not signed in: then somebody
    /// looks at their public part, GET /api/users/NAME. Default: as many as there are tokens
    #[arg(long, value_name = "N", requires = "zipf", value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    pub users: Option<u64>,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,
}

/// `lodge load accounts-sign-in`.
#[derive(Debug, Clone, Args)]
pub struct SignInCommand {
    /// Everything that the commands share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Seeded accounts, of which each request signs one in, drawn at random
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    pub users: u64,

    /// Their password
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    pub password: String,

    /// Status codes that count as success
    #[arg(long, value_name = "CODES", value_delimiter = ',', default_value = "200", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect: Vec<u16>,
}

impl RequestCommand {
    /// The name as typed, and the arguments that every command has.
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
