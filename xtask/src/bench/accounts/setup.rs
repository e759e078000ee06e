//! Options and servers of all parts.

use std::ops::Deref;

use anyhow::Result;
use clap::Args;

use crate::bench::{
    lodge::{Lodge, Server, binary},
    options::Options,
    seeded::{Seeded, Store},
};

#[derive(Args)]
pub(crate) struct AccountsOptions {
    #[command(flatten)]
    pub(super) common: Options,
    /// The store of the accounts.
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    pub(super) store: Store,
    /// The number of accounts, which are created the first time, in minutes, and kept in target/bench.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) users: u64,
    /// The number of their valid sessions, of random accounts.
    #[arg(long, default_value_t = 100_000)]
    pub(super) sessions: u64,
    /// Names of each kind whose sign-ins are timed.
    #[arg(long, default_value_t = 400)]
    pub(super) names: u64,
}

impl AccountsOptions {
    /// Makes everything small for quick runs.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            (self.users, self.sessions, self.names) = (20_000, 2_000, 20);
        }
    }
}

/// The options with the accounts that they ask for.
pub(super) struct Measured<'a> {
    options: &'a AccountsOptions,
    seeded: Seeded,
}

impl<'a> Measured<'a> {
    /// Creates the accounts, if they do not exist.
    pub(super) fn open(options: &'a AccountsOptions) -> Result<Self> {
        let AccountsOptions { store, users, sessions, .. } = *options;
        Ok(Self { options, seeded: Seeded::open(store, users, sessions, &binary())? })
    }

    /// Returns a Lodge with these accounts alone.
    pub(super) fn lodge(&self) -> Lodge {
        self.seeded.lodge()
    }

    /// Starts a process with both roles.
    pub(super) fn start(&self) -> Result<Server> {
        self.lodge().start()
    }

    /// Prints the bytes on disk when the accounts were created.
    pub(super) fn size(&self) -> Result<()> {
        println!("the accounts when they were created (a seed's estimate: 220 bytes per account):");
        print!("{}", self.seeded.said()?);
        Ok(())
    }

    /// Stops what the accounts are stored in.
    pub(super) fn close(self) -> Result<()> {
        self.seeded.close()
    }
}

impl Deref for Measured<'_> {
    type Target = AccountsOptions;

    fn deref(&self) -> &AccountsOptions {
        self.options
    }
}
