//! The two tiers of accounts, where they are processes of their own.

use std::{fs, sync::Arc};

use anyhow::{Context, Result};
use lodge_domain::accounts::Backend;
use lodge_wire::{Pool, PoolOptions, ServerOptions, SharedKey};

use crate::config::{Config, Role};

/// The way to those that keep the accounts.
pub(super) fn pool(config: &Config) -> Result<Arc<dyn Backend>> {
    let accounts = &config.accounts;
    Ok(Arc::new(Pool::start(PoolOptions {
        connections: accounts.connections,
        ..PoolOptions::new(accounts.servers.clone(), key(config)?)
    })))
}

/// How accounts that are kept here are served to others, if they are.
pub(crate) fn server(config: &Config) -> Result<Option<ServerOptions>> {
    let is_asked =
        config.roles.contains(&Role::Accounts) && !config.accounts.key_file.as_os_str().is_empty();
    if !is_asked {
        return Ok(None);
    }
    let connections_max = config.accounts.connections_max;
    Ok(Some(ServerOptions { connections_max, ..ServerOptions::new(key(config)?) }))
}

fn key(config: &Config) -> Result<SharedKey> {
    let file = &config.accounts.key_file;
    let bytes = fs::read(file);
    let bytes =
        bytes.with_context(|| format!("accounts.key_file: {} cannot be read", file.display()))?;
    SharedKey::new(bytes)
        .with_context(|| format!("accounts.key_file: {} is shorter than 32 bytes", file.display()))
}
