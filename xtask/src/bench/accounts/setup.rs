//! Options and server of all parts, on a data folder that is created once and kept.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use super::super::{
    lodge::{Lodge, Server, binary},
    options::Options,
};
use crate::process;

#[derive(Args)]
pub(crate) struct AccountsOptions {
    #[command(flatten)]
    pub(super) common: Options,
    /// Accounts in the folder, which is created the first time, in minutes, and kept in target/bench.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) users: u64,
    /// Valid sessions in the folder, of random accounts.
    #[arg(long, default_value_t = 100_000)]
    pub(super) sessions: u64,
    /// Names of each kind whose sign-ins are timed.
    #[arg(long, default_value_t = 400)]
    pub(super) names: u64,
}

impl AccountsOptions {
    /// Makes the folder small for quick runs.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            (self.users, self.sessions, self.names) = (20_000, 2_000, 20);
        }
    }
}

/// A Lodge with accounts alone, on the seeded folder.
pub(super) fn with_seeded(options: &AccountsOptions) -> Result<Lodge> {
    let lodge = Lodge::of(&binary(), folder(options)?);
    Ok(lodge.with("LODGE_APPS", "accounts"))
}

/// Starts a process with both roles.
pub(super) fn start(options: &AccountsOptions) -> Result<Server> {
    with_seeded(options)?.start()
}

/// The file with the output of the creation of the folder, with its size.
const SEED_OUTPUT: &str = "said.txt";

/// The folder of this size, with the data folder `data` and the sessions' tokens in `tokens`; created if it
/// does not exist or is incomplete. Remove `target/bench` after some weeks: sessions last 30 days.
fn folder(options: &AccountsOptions) -> Result<PathBuf> {
    let name = format!("accounts-{}-{}", options.users, options.sessions);
    let folder = process::root().join("target/bench").join(name);
    let note = folder.join(SEED_OUTPUT);
    if note.exists() {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    println!("creating {} accounts in {}", options.users, folder.display());
    let said = Lodge::of(&binary(), folder.clone()).seed(options.users, options.sessions)?;
    fs::write(&note, said).with_context(|| format!("{} cannot be written", note.display()))?;
    Ok(folder)
}

/// Prints the bytes on disk when the folder was created.
pub(super) fn size(options: &AccountsOptions) -> Result<()> {
    let said = fs::read_to_string(folder(options)?.join(SEED_OUTPUT))?;
    println!("the folder when it was created (a seed's estimate: 220 bytes per account):");
    print!("{said}");
    Ok(())
}
