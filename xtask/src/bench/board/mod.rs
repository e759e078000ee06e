//! A board: many who listen, as many posts as it can tell them, and how it is when it has grown.

mod capacity;
mod growth;
mod seed;
mod streams;

use std::fs;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::{
    links::load_to_its_end,
    servers::{self, Scratch},
};
use crate::process::{self, Running};

#[derive(Args)]
pub(crate) struct BoardOptions {
    /// Runs of each.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds of each run at a rate.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// Streams that are open, each of an account of its own.
    #[arg(long, default_value_t = 1_000)]
    streams: u32,
    /// Messages of the channel that has grown.
    #[arg(long, default_value_t = 1_000_000)]
    messages: u64,
    /// To see that it works: one short run of each with few streams and messages. Its figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Only the part of this name: streams, capacity, seed, growth.
    #[arg(long)]
    only: Option<String>,
}

impl BoardOptions {
    /// As they are meant.
    fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, streams: 50, messages: 20_000, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }
}

type Part = fn(&BoardOptions) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &BoardOptions) -> Result<()> {
    process::run("cargo", &["build", "--release", "--locked", "--package", "lodge"], &[])?;
    let options = options.settled();
    let parts: [(&str, Part); 4] = [
        ("streams", streams::posts),
        ("capacity", capacity::capacity),
        ("seed", seed::users),
        ("growth", growth::grown),
    ];
    let mut failed = Vec::new();
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name)
            && let Err(error) = part(&options).with_context(|| format!("the part {name}"))
        {
            eprintln!("{error:?}");
            failed.push(name);
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// A board alone, without a limit on posts.
fn start(scratch: &Scratch) -> Result<Running> {
    let settings =
        [("LODGE_APPS", "board".to_owned()), ("LODGE_LIMITS_POSTS_PER_MINUTE", "0".to_owned())];
    servers::start_lodge_with(scratch, "board", &settings)
}

/// The file of the accounts' tokens.
fn tokens(scratch: &Scratch) -> String {
    scratch.path("tokens").display().to_string()
}

/// The token of one of them.
fn token(scratch: &Scratch) -> Result<String> {
    let text = fs::read_to_string(scratch.path("tokens"))?;
    text.lines().next().map(str::to_owned).context("there is no token")
}

/// Makes so many accounts, of whom one posts.
fn make_accounts(scratch: &Scratch, users: u32) -> Result<()> {
    println!("making {users} accounts");
    let users = users.to_string();
    let load = ["board", "--users", &users, "--tokens", &tokens(scratch)];
    let one_post = ["--streams-per-user", "0", "--rate", "1", "--duration", "1s"];
    load_to_its_end(scratch, &[&load[..], &one_post].concat()).map(drop)
}
