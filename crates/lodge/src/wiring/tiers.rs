//! Wiring of the web tier and the accounts tier as separate processes.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use lodge_domain::accounts::Backend;
use lodge_wire::{
    ClientTls, Identity, Pool, PoolOptions, ServerOptions, ServerTls, SharedKey,
    certificates_expiry,
};

use super::setting_file::read_setting_file;
use crate::config::{AccountsConfig, Config};

/// Starts the connection pool to the accounts tier. Also returns the maximum of concurrent session lookups, half of the
/// pool's capacity.
pub(super) fn pool(config: &Config) -> Result<(Arc<dyn Backend>, usize)> {
    let accounts = &config.accounts;
    let options = PoolOptions {
        connections: accounts.connections.max(accounts.servers.len()),
        tls: accounts.tls.then(|| client_tls(accounts)).transpose()?,
        ..PoolOptions::new(accounts.servers.clone(), key(accounts)?)
    };
    let lookups_max = options.connections * options.in_flight_max as usize / 2;
    Ok((Arc::new(Pool::start(options)), lookups_max))
}

/// Returns the options of the accounts server for the web tier, if this process is one.
pub(crate) fn server(config: &Config) -> Result<Option<ServerOptions>> {
    let accounts = &config.accounts;
    if !is_server(config) {
        return Ok(None);
    }
    Ok(Some(ServerOptions {
        connections_max: accounts.connections_max,
        tls: accounts.tls.then(|| server_tls(accounts)).transpose()?,
        ..ServerOptions::new(key(accounts)?)
    }))
}

/// Returns whether this process serves its accounts to the web tier.
pub(crate) fn is_server(config: &Config) -> bool {
    config.stores_accounts() && config.accounts.accepts_web_tier()
}

/// Tests the connection between the tiers without changing anything: a web process does a handshake with each accounts
/// server; an accounts process checks its own key and certificates.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    let accounts = &config.accounts;
    let asks = config.serves_accounts() && !config.stores_accounts();
    if !asks && !is_server(config) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if accounts.tls {
        let certificates =
            [("ca_file", &accounts.ca_file), ("certificate_file", &accounts.certificate_file)];
        found.extend(
            certificates
                .into_iter()
                .filter_map(|(setting, file)| end_of_certificates(setting, file).transpose()),
        );
    }
    if asks {
        found.extend(probe_servers(accounts).await);
    } else {
        let serves = server(config).map(|_| "accounts: can be served to the web tier".to_owned());
        found.push(serves);
    }
    found
}

/// Does a handshake with each accounts server.
async fn probe_servers(accounts: &AccountsConfig) -> Vec<Result<String>> {
    let shown = key(accounts).and_then(|key| {
        let tls = accounts.tls.then(|| client_tls(accounts)).transpose()?;
        Ok((key, tls))
    });
    let (key, tls) = match shown {
        Ok(shown) => shown,
        Err(error) => return vec![Err(error)],
    };
    let mut found = Vec::new();
    for server in &accounts.servers {
        let met = lodge_wire::probe(server, &key, tls.as_ref(), HELLO).await;
        let met = met.with_context(|| format!("accounts.servers: {server}"));
        found.push(met.map(|()| format!("accounts.servers: {server} accepts this process")));
    }
    found
}

/// Returns when the first certificate in a file expires, or `None` without a file. Fails if one has expired.
fn end_of_certificates(setting: &'static str, file: &Path) -> Result<Option<String>> {
    let Some(pem) = read(setting, file)? else { return Ok(None) };
    let named = || format!("accounts.{setting}: {}", file.display());
    let end = certificates_expiry(&pem).with_context(named)?;
    let end = Timestamp::from_second(i64::try_from(end)?).with_context(named)?;
    let day = end.strftime("%Y-%m-%d");
    if end <= Timestamp::now() {
        bail!("{}: a certificate expired on {day}", named());
    }
    Ok(Some(format!("{}: valid until {day}", named())))
}

/// The timeout of a test handshake. It is longer than the 2 s after which a TLS server tells a plaintext client that
/// it requires TLS.
const HELLO: Duration = Duration::from_secs(3);

/// Reads the shared key of both tiers; [`SharedKey::none`] if only certificates are used.
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
    let identity =
        identity(accounts)?.context("accounts.certificate_file must name a certificate")?;
    ServerTls::new(identity, authorities.as_deref()).context("accounts.tls")
}

/// Reads the certificate of this process and its key, if both are configured.
fn identity(accounts: &AccountsConfig) -> Result<Option<Identity>> {
    let certificates = read("certificate_file", &accounts.certificate_file)?;
    let key = read("certificate_key_file", &accounts.certificate_key_file)?;
    let (Some(certificates), Some(key)) = (certificates, key) else { return Ok(None) };
    Ok(Some(Identity::read(&certificates, &key).context("accounts.certificate_file")?))
}

/// Reads the file in an account setting. Returns `None` if the setting is empty.
fn read(setting: &str, file: &Path) -> Result<Option<Vec<u8>>> {
    read_setting_file(&format!("accounts.{setting}"), file, fs::read)
}
