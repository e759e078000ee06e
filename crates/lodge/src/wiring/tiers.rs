//! The two tiers of accounts, where they are processes of their own.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result};
use lodge_domain::accounts::Backend;
use lodge_wire::{ClientTls, Identity, Pool, PoolOptions, ServerOptions, ServerTls, SharedKey};

use crate::config::{AccountsConfig, Config, Role};

/// The way to those that keep the accounts.
pub(super) fn pool(config: &Config) -> Result<Arc<dyn Backend>> {
    let accounts = &config.accounts;
    Ok(Arc::new(Pool::start(PoolOptions {
        connections: accounts.connections,
        tls: accounts.tls.then(|| client_tls(accounts)).transpose()?,
        ..PoolOptions::new(accounts.servers.clone(), key(accounts)?)
    })))
}

/// How accounts that are kept here are served to others, if they are.
pub(crate) fn server(config: &Config) -> Result<Option<ServerOptions>> {
    let accounts = &config.accounts;
    if !config.roles.contains(&Role::Accounts) || !accounts.lets_others_in() {
        return Ok(None);
    }
    Ok(Some(ServerOptions {
        connections_max: accounts.connections_max,
        tls: accounts.tls.then(|| server_tls(accounts)).transpose()?,
        ..ServerOptions::new(key(accounts)?)
    }))
}

/// The key that both tiers have; none where certificates do for it.
fn key(accounts: &AccountsConfig) -> Result<SharedKey> {
    let file = &accounts.key_file;
    let Some(bytes) = read("key_file", file)? else { return Ok(SharedKey::none()) };
    SharedKey::new(bytes)
        .with_context(|| format!("accounts.key_file: {} is shorter than 32 bytes", file.display()))
}

fn client_tls(accounts: &AccountsConfig) -> Result<ClientTls> {
    let authorities = read("ca_file", &accounts.ca_file)?;
    let trusted = if authorities.is_some() { "" } else { " without accounts.ca_file" };
    ClientTls::new(authorities.as_deref(), identity(accounts)?)
        .with_context(|| format!("accounts.tls{trusted}"))
}

fn server_tls(accounts: &AccountsConfig) -> Result<ServerTls> {
    let authorities = read("ca_file", &accounts.ca_file)?;
    let identity = identity(accounts)?.context("accounts.certificate_file names none")?;
    ServerTls::new(identity, authorities.as_deref()).context("accounts.tls")
}

/// What is shown to the other tier.
fn identity(accounts: &AccountsConfig) -> Result<Option<Identity>> {
    let certificates = read("certificate_file", &accounts.certificate_file)?;
    let key = read("certificate_key_file", &accounts.certificate_key_file)?;
    let (Some(certificates), Some(key)) = (certificates, key) else { return Ok(None) };
    Ok(Some(Identity::read(&certificates, &key).context("accounts.certificate_file")?))
}

/// The file that a setting names, if it names one.
fn read(setting: &str, file: &Path) -> Result<Option<Vec<u8>>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let bytes = fs::read(file);
    let bytes =
        bytes.with_context(|| format!("accounts.{setting}: {} cannot be read", file.display()))?;
    Ok(Some(bytes))
}
