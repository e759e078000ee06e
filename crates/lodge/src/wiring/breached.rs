//! The list of stolen passwords, in the process that keeps accounts.

use std::sync::Arc;

use anyhow::Result;
use lodge_domain::accounts::BreachedPasswords;
use lodge_local::BreachedFilter;

use super::setting_file::read_setting_file;
use crate::config::Config;

/// Reads the list, if one is configured.
pub(super) fn breached_passwords(config: &Config) -> Result<Option<Arc<dyn BreachedPasswords>>> {
    Ok(read(config)?.map(|list| Arc::new(list) as _))
}

/// Checks the list, if one is configured.
pub(crate) fn probe_breached_passwords(config: &Config) -> Option<Result<String>> {
    let read = read(config).transpose()?;
    Some(read.map(|list| format!("accounts.breached_passwords: {} passwords", list.passwords())))
}

fn read(config: &Config) -> Result<Option<BreachedFilter>> {
    let file = &config.accounts.breached_passwords;
    if !config.stores_accounts() {
        return Ok(None);
    }
    read_setting_file("accounts.breached_passwords", file, BreachedFilter::open)
}
