//! `lodge load …`: what is put on a server.

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;

use crate::board::{self, BoardCommand};
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
    /// A message board.
    #[command(flatten)]
    Board(Box<BoardCommand>),
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
        LoadCommand::Board(command) => board::run_to(command, out),
    }
}
