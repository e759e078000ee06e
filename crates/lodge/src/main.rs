//! `lodge`: one binary that runs as a server, an administration tool or a load generator.

#![deny(clippy::print_stdout, clippy::print_stderr, reason = "see commands::out")]

mod admin;
mod cli;
mod commands;
mod config;
mod descriptors;
mod jobs;
mod lifecycle;
mod ops;
mod telemetry;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// Measured faster than the system allocator for many small, short-lived allocations on all cores.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(options) => commands::serve::run(&options),
        Command::Check(options) => commands::check::run(&options),
        Command::Admin(options) => commands::admin::run(options),
        Command::Move(options) => commands::moving::run(&options),
        Command::BreachedPasswords(options) => commands::breached::run(&options),
        Command::Load(command) => commands::load::run(&command),
        Command::DecodePicture => Ok(lodge_pictures::decode_here()),
    };
    done.unwrap_or_else(|error| {
        commands::out::errln!("lodge: {error:#}");
        commands::exit_code(&error)
    })
}
