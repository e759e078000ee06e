//! A board: many who listen, as many posts as it can tell them, and how it is when it has grown.

mod away;
mod capacity;
mod growth;
mod seed;
mod setup;
mod streams;

use std::time::Instant;

use anyhow::{Context, Result, ensure};

pub(crate) use self::setup::BoardOptions;
use self::setup::{Budget, GRACE, start, token, tokens};
use super::{
    links::load_to_its_end,
    median::spread,
    servers::{self, Scratch},
};
use crate::process;

/// A part, on a data folder with accounts that nobody else has.
type Part = fn(&BoardOptions, &Scratch) -> Result<()>;

/// Runs every part, or those that are asked for.
pub(crate) fn run(options: &BoardOptions) -> Result<()> {
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 4] = [
        ("streams", streams::posts),
        ("capacity", capacity::capacity),
        ("seed", seed::users),
        ("growth", growth::grown),
    ];
    let began = Instant::now();
    let accounts = with_accounts(options.streams.max(options.users(seed::USERS_MAX)))?;
    let mut failed = Vec::new();
    for (name, part) in parts {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        println!("\n## {name}");
        let began = Instant::now();
        let done = copy_of(&accounts).and_then(|scratch| part(&options, &scratch));
        if let Err(error) = done.with_context(|| format!("the part {name}")) {
            eprintln!("{error:?}");
            failed.push(name);
        }
        println!("\n({name}: {:.0} s)", began.elapsed().as_secs_f64());
    }
    println!("\nall of it: {:.0} s", began.elapsed().as_secs_f64());
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// A data folder with so many accounts, all signed in, of whom one has posted; nothing serves it.
fn with_accounts(users: u32) -> Result<Scratch> {
    println!("making {users} accounts, each of which hashes a password twice");
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    let (users, tokens) = (users.to_string(), tokens(&scratch));
    let load = ["board", "--users", &users, "--tokens", &tokens];
    let one_post = ["--streams-per-user", "0", "--rate", "1", "--duration", "1s"];
    load_to_its_end(&scratch, &[&load[..], &one_post].concat())?;
    lodge.terminate(GRACE)?;
    Ok(scratch)
}

/// The same once more, so that no part finds what another one wrote.
fn copy_of(accounts: &Scratch) -> Result<Scratch> {
    let scratch = Scratch::new()?;
    for name in ["board", "tokens"] {
        let (from, to) = (accounts.path(name), scratch.path(name));
        let (from, to) = (from.display().to_string(), to.display().to_string());
        process::output("cp", &["-r", &from, &to])?;
    }
    Ok(scratch)
}
