//! What the settings about accounts have to be to each other.

use anyhow::{Result, bail};

use super::{App, Config, Role, Store};

pub(super) fn check(config: &Config) -> Result<()> {
    if !config.apps.contains(&App::Accounts) {
        return Ok(());
    }
    let (here, accounts) = (config.roles.contains(&Role::Accounts), &config.accounts);
    let has_key = !accounts.key_file.as_os_str().is_empty();
    if here && config.links.store != Store::Embedded {
        bail!(
            "apps: accounts are kept in the data folder, which links.store = \"cassandra\" leaves empty; \
             leave them out with apps = [\"links\"], or give the role \"accounts\" to another process \
             and name it in accounts.servers"
        );
    }
    if here && !accounts.servers.is_empty() {
        bail!("accounts.servers is of no use to a process that has the role \"accounts\" itself");
    }
    if !here && accounts.servers.is_empty() {
        bail!(
            "accounts.servers must name those that have the role \"accounts\", such as \"10.0.0.1:7070\""
        );
    }
    let asks_or_is_asked = !here || !config.roles.contains(&Role::Web);
    if asks_or_is_asked && !has_key {
        bail!(
            "accounts.key_file must name a file with the key that both tiers have, 32 bytes or more"
        );
    }
    Ok(())
}
