//! The board: many open streams, the highest rate of posts, and a large channel.

mod capacity;
mod catch_up;
mod growth;
mod seed;
mod setup;
mod streams;

use std::time::Instant;

use anyhow::Result;

pub(crate) use self::setup::BoardOptions;
use self::setup::{Budget, start, token};
use super::lodge::{self, Scratch};
use crate::process;

/// Runs the parts, each on its own data folder with accounts. Together they take 40 minutes at most, without
/// the build; a part that runs out of time has fewer runs, and prints that.
pub(crate) fn run(mut options: BoardOptions) -> Result<()> {
    lodge::build()?;
    options.settle();
    let options = &options;
    let began = Instant::now();
    let accounts = with_accounts(options.streams.max(options.users(seed::USERS_MAX)))?;
    let on_copy = |part: fn(&BoardOptions, &Scratch) -> Result<()>| {
        let accounts = &accounts;
        move || part(options, &copy_of(accounts)?)
    };
    options.common.run(&[
        ("streams", &on_copy(streams::posts)),
        ("capacity", &on_copy(capacity::capacity)),
        ("seed", &on_copy(seed::users)),
        ("growth", &on_copy(growth::grown)),
    ])?;
    println!("\ntotal: {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// Creates a data folder with accounts, all signed in, one of which has posted. No server runs on it.
fn with_accounts(users: u32) -> Result<Scratch> {
    println!("creating {users} accounts, each of which hashes a password twice");
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    let load = format!("board --users {users} --tokens tokens");
    lodge.load(&format!("{load} --streams-per-user 0 --rate 1 --duration 1s"))?;
    lodge.terminate()?;
    Ok(scratch)
}

/// Copies the folder, so that no part reads what another has written.
fn copy_of(accounts: &Scratch) -> Result<Scratch> {
    let scratch = Scratch::new()?;
    for name in ["data", "tokens"] {
        let [from, to] = [accounts, &scratch].map(|at| at.path(name).display().to_string());
        process::output("cp", &["-r", &from, &to])?;
    }
    Ok(scratch)
}
