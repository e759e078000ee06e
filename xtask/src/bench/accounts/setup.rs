//! What every part needs: its options, and a process that serves accounts.

use anyhow::Result;
use clap::Args;

use super::{
    super::{
        lodge::{Lodge, Server, binary},
        options::Options,
    },
    seeded,
};

#[derive(Args)]
pub(crate) struct AccountsOptions {
    #[command(flatten)]
    pub(super) common: Options,
    /// Accounts in the folder; it is made the first time, in minutes, and kept in target/bench.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) users: u64,
    /// Live sessions in it, of accounts drawn at random.
    #[arg(long, default_value_t = 100_000)]
    pub(super) sessions: u64,
    /// Names of each kind whose sign-ins are timed.
    #[arg(long, default_value_t = 400)]
    pub(super) names: u64,
}

impl AccountsOptions {
    /// Makes the folder small if the runs are to be quick.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            (self.users, self.sessions, self.names) = (20_000, 2_000, 20);
        }
    }
}

/// A Lodge with accounts alone, on the seeded folder.
pub(super) fn with_seeded(options: &AccountsOptions) -> Result<Lodge> {
    let lodge = Lodge::of(&binary(), seeded::folder(options)?);
    Ok(lodge.with("LODGE_APPS", "accounts"))
}

/// Both roles in one process.
pub(super) fn start(options: &AccountsOptions) -> Result<Server> {
    with_seeded(options)?.start()
}
