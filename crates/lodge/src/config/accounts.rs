//! What the settings about accounts have to be to each other.

use anyhow::{Result, bail};

use super::{AccountsConfig, Config, Role, providers};

/// Seconds that who is signed in may be remembered.
const SESSION_CACHE_S_MAX: u64 = 60;

/// The longest picture that can be allowed, in KiB: some of them are in memory at once, and what decodes one
/// has it twice.
const PICTURE_KIB_MAX: usize = 16 * 1024;

pub(super) fn check(config: &Config) -> Result<()> {
    if config.accounts.session_cache_s > SESSION_CACHE_S_MAX {
        bail!("accounts.session_cache_s must be {SESSION_CACHE_S_MAX} or less");
    }
    if !config.keeps_accounts() && !config.answers_for_accounts() {
        return Ok(());
    }
    let (here, accounts) = (config.keeps_accounts(), &config.accounts);
    if here && !accounts.servers.is_empty() {
        bail!("accounts.servers is of no use to a process that has the role \"accounts\" itself");
    }
    if !here && accounts.servers.is_empty() {
        bail!(
            "accounts.servers must name those that have the role \"accounts\", such as \"10.0.0.1:7070\""
        );
    }
    if let Some(server) = accounts.servers.iter().find(|server| !has_port(server)) {
        bail!("accounts.servers: {server:?} must be a host and a port, such as \"10.0.0.1:7070\"");
    }
    check_tls(accounts)?;
    check_pictures(config)?;
    let asks_or_is_asked = !here || !config.roles.contains(&Role::Web);
    let has_proof = if here { accounts.lets_others_in() } else { accounts.can_prove_itself() };
    if asks_or_is_asked && !has_proof {
        bail!(
            "accounts.key_file must name a file with the key that both tiers have, 32 bytes or more, \
             if not both of them have certificates (accounts.tls, ca_file, certificate_file)"
        );
    }
    if here && accounts.tls && accounts.lets_others_in() && !accounts.has_certificate() {
        bail!(
            "accounts.certificate_file and accounts.certificate_key_file must name what the role \
             \"accounts\" shows with accounts.tls = true"
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
        bail!("accounts.{name} is of no use without accounts.tls = true");
    }
    let [certificate, key] = [&accounts.certificate_file, &accounts.certificate_key_file];
    if certificate.as_os_str().is_empty() != key.as_os_str().is_empty() {
        bail!(
            "accounts.certificate_file and accounts.certificate_key_file are of use only together"
        );
    }
    Ok(())
}

fn check_pictures(config: &Config) -> Result<()> {
    let (accounts, has) = (&config.accounts, |role| config.roles.contains(&role));
    if !(1..=PICTURE_KIB_MAX).contains(&accounts.picture_kib_max) {
        bail!("accounts.picture_kib_max must be 1 to {PICTURE_KIB_MAX}");
    }
    if has(Role::Web) && !has(Role::Accounts) && accounts.pictures.as_os_str().is_empty() {
        bail!(
            "accounts.pictures must name the folder that all processes of the role \"web\" keep pictures \
             in: each in its own data folder, one would not have what another one was sent"
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

    /// Whether a process that keeps accounts can tell who may ask it: by a key, or by certificates.
    pub(crate) fn lets_others_in(&self) -> bool {
        self.has_key() || (self.tls && !self.ca_file.as_os_str().is_empty())
    }

    /// Whether a process that asks can show that it may.
    fn can_prove_itself(&self) -> bool {
        self.has_key() || (self.tls && self.has_certificate())
    }
}
