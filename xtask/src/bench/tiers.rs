//! Accounts in two tiers: the accounts process, and the web processes in front of it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::Result;

use super::lodge::{Lodge, Scratch, Server};

/// Both running tiers, stopped on drop, the web tier first.
pub(crate) struct Tiers {
    pub(crate) webs: Vec<Server>,
    pub(crate) accounts: Server,
    /// The folder with their shared key, and pictures.
    _shared: Scratch,
}

impl Tiers {
    /// Starts both, and waits until each web process answers a request that needs the accounts tier. That one
    /// listens for the web tier at its public address.
    pub(crate) fn start(accounts: Lodge, webs: Vec<Lodge>) -> Result<Self> {
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
        let start = |web| {
            let mut web = with_key(web, "web")
                .with("LODGE_ACCOUNTS_SERVERS", wire)
                .with("LODGE_ACCOUNTS_PICTURES", shared.path("pictures").display())
                .start()?;
            web.wait_until("the two tiers answer", |web| {
                web.get("/api/users/unknown").is_ok_and(|answer| answer.status == 404)
            })?;
            Ok(web)
        };
        let webs = webs.into_iter().map(start).collect::<Result<_>>()?;
        accounts.must_run()?;
        Ok(Self { webs, accounts, _shared: shared })
    }

    /// Returns the first web process.
    pub(crate) fn web(&self) -> &Server {
        &self.webs[0]
    }

    /// Stops both with SIGTERM, and fails unless both exit with 0.
    pub(crate) fn terminate(self) -> Result<()> {
        for web in self.webs {
            web.terminate()?;
        }
        self.accounts.terminate().map(drop)
    }
}
