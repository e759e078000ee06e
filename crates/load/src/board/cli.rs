//! The command line of `lodge load board`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::accounts::SEED_PASSWORD;
use crate::report::files::ReportFiles;
use crate::values::{RATES, number, parse_duration, word};

/// The servers, accounts, load, duration and output files of a run.
#[derive(Debug, Clone, Args)]
pub struct BoardArgs {
    /// Servers of one board, comma-separated, each `http://host[:port][/prefix]`; streams and posts are
    /// distributed round-robin
    #[arg(
        long = "url",
        visible_alias = "servers",
        value_name = "URL,URL",
        required = true,
        value_delimiter = ','
    )]
    pub servers: Vec<String>,

    /// Channel to post to and listen to
    #[arg(long, value_name = "NAME", default_value = "lobby", value_parser = name(32))]
    pub channel: String,

    /// Accounts that post in turn and listen; created if needed, then signed in
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub users: u32,

    /// Open streams of each account; 0: post only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub streams_per_user: u32,

    /// Open the streams of board pages, authenticated by a cookie and with the HTML of each message.
    /// Default: API streams
    #[arg(long)]
    pub pages: bool,

    /// Open loop: send N messages a second in total, whatever the server does, and count latency from the
    /// intended send time. Default without --messages: 20
    #[arg(long, value_name = "N", value_parser = number(RATES), conflicts_with = "messages")]
    pub rate: Option<f64>,

    /// Open loop: stop after this time, such as 500ms, 10s, 2m or 1h. Default: 60s
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, conflicts_with = "messages")]
    pub duration: Option<Duration>,

    /// Closed loop: each account posts N messages, one after another
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub messages: Option<u64>,

    /// Open loop: connections that carry the posts
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000), conflicts_with = "messages")]
    pub connections: u32,

    /// Prefix of the accounts' names
    #[arg(long, value_name = "TEXT", default_value = "load", value_parser = name(20))]
    pub accounts_prefix: String,

    /// Password of the accounts
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    pub password: String,

    /// File of session tokens, one a line. Used if it has enough tokens; otherwise the accounts sign in and
    /// the file is written (mode 0600), so that the next run starts at once
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,

    /// Cut each stream's connection at random, on average after this time; it resumes from its cursor
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cut: Option<Duration>,

    /// Timeout of each try of a message, counted from its sending; in an open loop a message that is not sent
    /// this long after its intended time counts as "not sent"
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// How long a message is retried under its client id after 5xx or no response; after that its outcome
    /// is unknown
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub patience: Duration,

    /// How long to wait after the last post until every stream has every message
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub catch_up: Duration,

    /// Threads that read the streams, and as many that post. Default: half of the cores, from 1 to 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,

    /// Seed of the random choices (when connections are cut, retry jitter). Client ids of messages are
    /// always new
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Verify that every stream got every acknowledged message exactly once, each origin's events in order
    /// and without gaps, and every message with the same id in all streams. Exit code 1 on any difference
    #[arg(long)]
    pub verify: bool,

    /// The files of the report.
    #[command(flatten)]
    pub files: ReportFiles,
}

/// Returns a parser for a name of 1 to `most` bytes.
fn name(most: usize) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    word(most, "lowercase ASCII letters, digits and -", fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn servers_are_given_by_either_option() {
        let line = "board --servers http://a,http://b --url http://c";
        let named = parse::<Box<BoardArgs>>(line).unwrap();
        assert_eq!(named.servers, ["http://a", "http://b", "http://c"]);
        assert!(parse::<Box<BoardArgs>>("board").is_err(), "a server is required");
    }
}
