//! Accounts in two tiers: a process that keeps them, and one that answers the public.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::Result;

use super::lodge::{Lodge, Scratch, Server};

/// Both, until this is dropped; the one that asks ends first.
pub(crate) struct Tiers {
    pub(crate) web: Server,
    pub(crate) accounts: Server,
    /// The key that they share, and pictures.
    _shared: Scratch,
}

impl Tiers {
    /// Starts both, and waits until the web tier answers with what only the other one can know. That one
    /// listens for it where it would for clients.
    pub(crate) fn start(accounts: Lodge, web: Lodge) -> Result<Self> {
        let shared = Scratch::new()?;
        fs::set_permissions(shared.path(""), fs::Permissions::from_mode(0o700))?;
        fs::write(shared.path("key"), rand::random::<[u8; 32]>())?;
        let wire = accounts.address();
        let with_key = |lodge: Lodge, role| {
            lodge
                .with("LODGE_ROLES", role)
                .with("LODGE_ACCOUNTS_KEY_FILE", shared.path("key").display())
        };
        let accounts = with_key(accounts, "accounts").with("LODGE_ACCOUNTS_LISTEN", wire);
        let mut accounts = accounts.start()?;
        let mut web = with_key(web, "web")
            .with("LODGE_ACCOUNTS_SERVERS", wire)
            .with("LODGE_ACCOUNTS_PICTURES", shared.path("pictures").display())
            .start()?;
        web.wait_until("the two tiers answer", |web| {
            web.get("/api/users/nobody").is_ok_and(|answer| answer.status == 404)
        })?;
        accounts.must_run()?;
        Ok(Self { web, accounts, _shared: shared })
    }

    /// Asks both to end, and fails unless both end well.
    pub(crate) fn terminate(self) -> Result<()> {
        self.web.terminate()?;
        self.accounts.terminate().map(drop)
    }
}
