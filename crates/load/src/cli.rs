//! `lodge load …`: what is put on a server.

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;

use crate::board::{self, BoardArgs};
use crate::links::{self, RequestCommand};
use crate::report::page::Outcome;
use crate::rides::{self, RidesCommand};

/// `lodge load …`: what is put on a server.
#[derive(Debug, Clone, Subcommand)]
pub enum LoadCommand {
    /// Requests of links and of accounts.
    #[command(flatten)]
    Requests(Box<RequestCommand>),
    /// Lift rides.
    #[command(flatten)]
    Rides(Box<RidesCommand>),
    /// Post messages to a board while many listen to it: how long until each, and until the last, has
    /// them; and proof that each got every acknowledged message once, in order
    Board(Box<BoardArgs>),
}

/// Does what `command` says and writes the report to `out`.
///
/// Blocks until all is done. Threads and their runtimes are its own: call it from any thread that
/// may block. Ctrl-C stops the sending, awaits the answers under way and still reports; a second
/// one ends the process with code 130.
pub fn run_to(command: &LoadCommand, out: &mut impl Write) -> Result<Outcome> {
    match command {
        LoadCommand::Requests(command) => links::run_to(command, out),
        LoadCommand::Rides(command) => rides::run_to(command, out),
        LoadCommand::Board(args) => board::run_to(args, out),
    }
}

/// Reads a command line as a person types it, after `lodge load`.
#[cfg(test)]
pub(crate) fn parse(line: &str) -> Result<LoadCommand, clap::Error> {
    #[derive(Debug, clap::Parser)]
    struct Cli {
        #[command(subcommand)]
        load: LoadCommand,
    }
    let words = std::iter::once("load").chain(line.split_whitespace());
    <Cli as clap::Parser>::try_parse_from(words).map(|cli| cli.load)
}
