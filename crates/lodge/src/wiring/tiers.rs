//! The two tiers of accounts, where they are processes of their own.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use lodge_domain::accounts::Backend;
use lodge_wire::{
    ClientTls, Identity, Pool, PoolOptions, ServerOptions, ServerTls, SharedKey, certificates_end,
};

use super::named_file;
use crate::config::{AccountsConfig, Config};

/// The way to those that keep the accounts, and how many sessions they may be asked for at once: half of what
/// it carries.
pub(super) fn pool(config: &Config) -> Result<(Arc<dyn Backend>, usize)> {
    let accounts = &config.accounts;
    let options = PoolOptions {
        connections: accounts.connections,
        tls: accounts.tls.then(|| client_tls(accounts)).transpose()?,
        ..PoolOptions::new(accounts.servers.clone(), key(accounts)?)
    };
    let lookups_max = options.connections * options.in_flight_max as usize / 2;
    Ok((Arc::new(Pool::start(options)), lookups_max))
}

/// How accounts that are kept here are served to others, if they are.
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

/// Whether accounts that are kept here are served to others.
pub(crate) fn is_server(config: &Config) -> bool {
    config.keeps_accounts() && config.accounts.lets_others_in()
}

/// Says in plain words what can be known of the other tier without changing anything: of those that are asked,
/// whether each lets this process in; of those who ask, whether they could be let in.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    let accounts = &config.accounts;
    let asks = config.answers_for_accounts() && !config.keeps_accounts();
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
        found.extend(hellos(accounts).await);
    } else {
        let serves = server(config).map(|_| "accounts: can be served to those who ask".to_owned());
        found.push(serves);
    }
    found
}

/// What comes of a hello to each of those that keep the accounts.
async fn hellos(accounts: &AccountsConfig) -> Vec<Result<String>> {
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
        let met = lodge_wire::say_hello(server, &key, tls.as_ref(), HELLO).await;
        let met = met.with_context(|| format!("accounts.servers: {server}"));
        found.push(met.map(|()| format!("accounts.servers: {server} lets this process in")));
    }
    found
}

/// When the first of a file's certificates ends, if there is such a file; an error if that is past.
fn end_of_certificates(setting: &'static str, file: &Path) -> Result<Option<String>> {
    let Some(pem) = read(setting, file)? else { return Ok(None) };
    let named = || format!("accounts.{setting}: {}", file.display());
    let end = certificates_end(&pem).with_context(named)?;
    let end = Timestamp::from_second(i64::try_from(end)?).with_context(named)?;
    let day = end.strftime("%Y-%m-%d");
    if end <= Timestamp::now() {
        bail!("{}: a certificate has ended on {day}", named());
    }
    Ok(Some(format!("{}: good until {day}", named())))
}

/// How long a server may take to say hello: longer than the two seconds after which one that speaks TLS says so
/// to who does not.
const HELLO: Duration = Duration::from_secs(3);

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
    named_file(&format!("accounts.{setting}"), file, fs::read)
}
