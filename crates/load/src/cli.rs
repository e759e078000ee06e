//! The command line of `lodge load …`.

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;

use crate::board::{self, BoardArgs};
use crate::links::{self, RequestCommand};
use crate::report::{files::ReportFiles, page::RunOutcome};
use crate::rides::{self, RidesCommand};

/// A workload of `lodge load …`.
#[derive(Debug, Clone, Subcommand)]
#[cfg_attr(test, derive(derive_more::TryInto))]
pub enum LoadCommand {
    /// Short links and accounts.
    #[command(flatten)]
    Requests(Box<RequestCommand>),
    /// Lift rides.
    #[command(flatten)]
    Rides(Box<RidesCommand>),
    /// Post messages to a board with many open streams: latency to each stream and to the last one, and
    /// proof that every stream got every acknowledged message once, in order
    Board(Box<BoardArgs>),
}

impl LoadCommand {
    fn files(&self) -> &ReportFiles {
        match self {
            Self::Requests(command) => &command.common().1.files,
            Self::Rides(command) => &command.common().1.files,
            Self::Board(args) => &args.files,
        }
    }
}

/// Runs `command` and writes the report to `out`.
///
/// Blocks until the run ends. It creates its own threads and runtimes: call it from any thread that
/// may block. Ctrl-C stops sending, waits for the requests in flight and still writes the report; a
/// second Ctrl-C ends the process with exit code 130.
pub fn run_to(command: &LoadCommand, out: &mut impl Write) -> Result<RunOutcome> {
    command.files().check()?;
    match command {
        LoadCommand::Requests(command) => links::run_to(command, out),
        LoadCommand::Rides(command) => rides::run_to(command, out),
        LoadCommand::Board(args) => board::run_to(args, out),
    }
}

/// Parses the part of a command line after `lodge load`.
#[cfg(test)]
pub(crate) fn parse<C>(line: &str) -> Result<C, clap::Error>
where
    C: TryFrom<LoadCommand, Error: std::fmt::Debug>,
{
    #[derive(Debug, clap::Parser)]
    struct Cli {
        #[command(subcommand)]
        load: LoadCommand,
    }
    let words = std::iter::once("load").chain(line.split_whitespace());
    let cli = <Cli as clap::Parser>::try_parse_from(words)?;
    Ok(cli.load.try_into().expect("a command of another kind"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_refused() {
        for line in [
            "links-get --url http://x -n 1 -d 1s",
            "links-get --url http://x --shorts a --links 2",
            "links-mixed --url http://x --get-rate 1",
            "links-mixed --url http://x --get-rate 1 --put-rate 1 --rate 2",
            "links-mixed --url http://x --get-rate 1 --put-rate 1 --write-share 0.5",
            "links-put --url http://x -c 0",
            "accounts-get --url http://x",
            "accounts-get --url http://x --tokens f --users 5",
            "accounts-get --url http://x --tokens f --zipf -1",
            "accounts-sign-in --url http://x --users 0",
            "rides --url http://x --duration 1s",
            "rides --url http://x --rate 5 --duration 1s --events 7",
            "rides --url http://x --rate 5 --first-threads 7",
            "rides --url http://x --season 20/25",
            "rides --url http://x --repeat-percent 91",
            "rides --url http://x --repeat-percent nan",
            "rides-batch --url http://x --lines 10001",
            "rides-batch --url http://x --compress rar",
            "rides-get --url http://x --rate 5",
            "rides-get --url http://x --clients 0",
            "rides-get --url http://x --verify",
            "board --url http://x --rate 5 --messages 7",
            "board --url http://x --duration 5s --messages 7",
            "board --url http://x --connections 5 --messages 7",
            "board --url http://x --channel Lobby",
            "board --url http://x --accounts-prefix a/b",
            "board --url http://x --cut 5",
            "board --url http://x --users 0",
        ] {
            assert!(parse::<LoadCommand>(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_report_file_that_cannot_be_written_is_reported_before_the_run() {
        for workload in ["links-get", "rides --verify", "board"] {
            let line = format!("{workload} --url http://127.0.0.1:1 --html no-folder/report.html");
            let command = parse::<LoadCommand>(&line).unwrap();
            let error = run_to(&command, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "cannot write no-folder/report.html", "{workload}");
        }
    }
}
