//! A board: many who listen, as many posts as it can tell them, and how it is when it has grown.

mod away;
mod capacity;
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

/// Runs the parts, each on a data folder with accounts that no other part uses. All of them take 40 minutes at
/// most, beside the building; a part whose time is over before has fewer runs, and says so.
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
    println!("\nall of it: {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// A data folder with so many accounts, all signed in, of whom one has posted; nothing serves it.
fn with_accounts(users: u32) -> Result<Scratch> {
    println!("making {users} accounts, each of which hashes a password twice");
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    let load = format!("board --users {users} --tokens tokens");
    lodge.load(&format!("{load} --streams-per-user 0 --rate 1 --duration 1s"))?;
    lodge.terminate()?;
    Ok(scratch)
}

/// The same once more, so that no part finds what another one wrote.
fn copy_of(accounts: &Scratch) -> Result<Scratch> {
    let scratch = Scratch::new()?;
    for name in ["data", "tokens"] {
        let [from, to] = [accounts, &scratch].map(|at| at.path(name).display().to_string());
        process::output("cp", &["-r", &from, &to])?;
    }
    Ok(scratch)
}
