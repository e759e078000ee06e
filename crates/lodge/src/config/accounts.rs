//! Checks of the account settings.

use anyhow::{Result, bail};

use super::{AccountsConfig, Config, Role, providers, stores::PictureStorage};

/// The maximum of `accounts.session_cache_s`, in seconds.
const SESSION_CACHE_S_MAX: u64 = 60;

/// The maximum of `accounts.picture_kib_max`, in KiB: several pictures are in memory at once, and the decoder
/// process has its picture twice.
const PICTURE_KIB_MAX: usize = 16 * 1024;

pub(super) fn check(config: &Config) -> Result<()> {
    let seconds = config.accounts.session_cache_s;
    if seconds > SESSION_CACHE_S_MAX {
        bail!("accounts.session_cache_s must be at most {SESSION_CACHE_S_MAX}, not {seconds}");
    }
    if !config.stores_accounts() && !config.serves_accounts() {
        return Ok(());
    }
    let (here, accounts) = (config.stores_accounts(), &config.accounts);
    if here && !accounts.servers.is_empty() {
        bail!("accounts.servers must be empty for a process with the role \"accounts\"");
    }
    if !here && accounts.servers.is_empty() {
        bail!(
            "accounts.servers must list the processes with the role \"accounts\", such as \"10.0.0.1:7070\""
        );
    }
    if let Some(server) = accounts.servers.iter().find(|server| !has_port(server)) {
        bail!("accounts.servers must be a host and a port (\"10.0.0.1:7070\"), not {server:?}");
    }
    check_tls(accounts)?;
    check_pictures(config)?;
    let asks_or_is_asked = !here || !config.roles.contains(&Role::Web);
    let has_proof = if here { accounts.accepts_web_tier() } else { accounts.can_authenticate() };
    if asks_or_is_asked && !has_proof {
        bail!(
            "accounts.key_file must name a file with the key that both tiers share, at least 32 bytes, \
             unless both tiers use certificates (accounts.tls, ca_file, certificate_file)"
        );
    }
    if here && accounts.tls && accounts.accepts_web_tier() && !accounts.has_certificate() {
        bail!(
            "accounts.certificate_file and accounts.certificate_key_file must be set for the role \
             \"accounts\" with accounts.tls = true"
        );
    }
    providers::check(config)
}

fn has_port(server: &str) -> bool {
    let parts = server.rsplit_once(':');
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

fn check_tls(accounts: &AccountsConfig) -> Result<()> {
    let files = [
        ("ca_file", &accounts.ca_file),
        ("certificate_file", &accounts.certificate_file),
        ("certificate_key_file", &accounts.certificate_key_file),
    ];
    let given = files.iter().find(|(_, file)| !file.as_os_str().is_empty());
    if let Some((name, _)) = given.filter(|_| !accounts.tls) {
        bail!("accounts.{name} requires accounts.tls = true");
    }
    let [certificate, key] = [&accounts.certificate_file, &accounts.certificate_key_file];
    if certificate.as_os_str().is_empty() != key.as_os_str().is_empty() {
        bail!("accounts.certificate_file and accounts.certificate_key_file must be set together");
    }
    Ok(())
}

fn check_pictures(config: &Config) -> Result<()> {
    let (accounts, has) = (&config.accounts, |role| config.roles.contains(&role));
    let kib = accounts.picture_kib_max;
    if !(1..=PICTURE_KIB_MAX).contains(&kib) {
        bail!("accounts.picture_kib_max must be from 1 to {PICTURE_KIB_MAX}, not {kib}");
    }
    let are_files = config.pictures.store == PictureStorage::Files;
    if are_files
        && has(Role::Web)
        && !has(Role::Accounts)
        && accounts.pictures.as_os_str().is_empty()
    {
        bail!(
            "accounts.pictures must name the folder that all processes with the role \"web\" share for \
             pictures, or pictures.store be \"s3\", when accounts are on other processes (accounts.servers)"
        );
    }
    Ok(())
}

impl AccountsConfig {
    fn has_key(&self) -> bool {
        !self.key_file.as_os_str().is_empty()
    }

    fn has_certificate(&self) -> bool {
        !self.certificate_file.as_os_str().is_empty()
    }

    /// Returns whether the accounts tier can authenticate its clients, by a shared key or by client certificates.
    pub(crate) fn accepts_web_tier(&self) -> bool {
        self.has_key() || (self.tls && !self.ca_file.as_os_str().is_empty())
    }

    /// Returns whether the web tier can authenticate itself, by a shared key or by a certificate.
    fn can_authenticate(&self) -> bool {
        self.has_key() || (self.tls && self.has_certificate())
    }
}
