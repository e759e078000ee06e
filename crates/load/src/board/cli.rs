//! The command line of `lodge load board`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::accounts::SEED_PASSWORD;
use crate::values::{RATES, number, parse_duration, word};

/// Where to, who, how hard, for how long, and where the figures go.
#[derive(Debug, Clone, Args)]
pub struct BoardArgs {
    /// The servers of one board, `http://host[:port][/prefix]`, with commas between; streams and posts are
    /// spread over them in turn
    #[arg(
        long = "url",
        visible_alias = "servers",
        value_name = "URL,URL",
        required = true,
        value_delimiter = ','
    )]
    pub servers: Vec<String>,

    /// The channel
    #[arg(long, value_name = "NAME", default_value = "lobby", value_parser = name(32))]
    pub channel: String,

    /// Accounts that post in turn, and listen; they are made, or signed in if they are there
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub users: u32,

    /// Streams that each account has open; 0: nobody listens
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub streams_per_user: u32,

    /// Listen as pages do: their streams, signed in by a cookie, with the HTML of each message. Default: the
    /// API's streams
    #[arg(long)]
    pub pages: bool,

    /// Open loop: N messages a second in total, whatever the server does, latency counted from the intended
    /// send time. Default, without --messages: 20
    #[arg(long, value_name = "N", value_parser = number(RATES), conflicts_with = "messages")]
    pub rate: Option<f64>,

    /// Open loop: stop after this long, like 500ms, 10s, 2m, 1h. Default: 60s
    #[arg(long, short = 'd', value_name = "TIME", value_parser = parse_duration, conflicts_with = "messages")]
    pub duration: Option<Duration>,

    /// Closed loop: each account posts N messages, one after the other
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub messages: Option<u64>,

    /// Open loop: connections that carry the posts
    #[arg(long, short = 'c', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000), conflicts_with = "messages")]
    pub connections: u32,

    /// First characters of the accounts' names
    #[arg(long, value_name = "TEXT", default_value = "load", value_parser = name(20))]
    pub accounts_prefix: String,

    /// Their password
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    pub password: String,

    /// Tokens of the accounts' sessions, one a line. Used if the file has enough of them, else it is
    /// written, so that the next run starts at once; its owner alone can read it
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,

    /// Cut each stream's connection at random times, so long apart on average; it goes on from where it was
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cut: Option<Duration>,

    /// Deadline of each try of a message: to be answered, counted from its sending; in an open loop also to
    /// be sent, counted from its intended time (past it: "not sent")
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,

    /// How long a message that is answered with 5xx, or not at all, is sent again under its client id;
    /// past it its outcome is unknown
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub patience: Duration,

    /// How long the streams may take, after the posting, to get what they do not have
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub catch_up: Duration,

    /// Threads that read the streams, and as many that post. Default: half of the cores, at least 1, at
    /// most 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: Option<u32>,

    /// Seed of the random choices (when connections are cut, how long a pause is). The client ids of
    /// messages are always new
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// A header for every request, "Name: value"; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub headers: Vec<String>,

    /// Prove that every stream got every acknowledged message exactly once, those of each origin in order
    /// and without a gap, and all of them the same at the same place. Exit code 1 when anything differs
    #[arg(long)]
    pub verify: bool,

    /// Write the whole report as JSON, with a time series of one-second windows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the report as one self-contained HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Reads a name of one to `most` bytes.
fn name(most: usize) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    word(most, "small ASCII letters, digits and -", fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn servers_are_named_by_either_word() {
        let line = "board --servers http://a,http://b --url http://c";
        let named = parse::<Box<BoardArgs>>(line).unwrap();
        assert_eq!(named.servers, ["http://a", "http://b", "http://c"]);
        assert!(parse::<Box<BoardArgs>>("board").is_err(), "there is none");
    }
}
