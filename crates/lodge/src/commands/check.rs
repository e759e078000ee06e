//! `lodge check`.

use std::{net::TcpListener, process::ExitCode};

use anyhow::Result;
use lodge_domain::links::Blocklist;
use lodge_pictures::probe_sandbox;
use lodge_sqlite::Inspected;

use crate::{
    commands::out::outln,
    config::{
        Config, Role, Writes,
        options::ConfigOptions,
        sources::{self, BadConfig},
    },
    lifecycle::bind_remedy,
    wiring,
};

/// Prints one line per check. Returns exit code 1 if a check failed.
pub(crate) fn run(options: &ConfigOptions) -> Result<ExitCode> {
    let config = sources::load(options)?;
    let apps: Vec<String> =
        config.apps.iter().map(|app| format!("{app:?}").to_lowercase()).collect();
    outln!("ok    configuration: apps {}, data {}", apps.join(", "), config.data.display());
    let (folder_is_good, server_runs) = check_folder(&config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let good = [
        folder_is_good,
        print_results(probe_blocklist(&config)),
        print_results(runtime.block_on(wiring::probe(&config))),
        print_results(runtime.block_on(wiring::probe_redis(&config))),
        print_results(runtime.block_on(wiring::probe_mariadb(&config))),
        !config.stores_accounts()
            || print_results(runtime.block_on(wiring::probe_providers(&config))),
        print_results(runtime.block_on(wiring::tiers::probe(&config))),
        print_results(wiring::probe_breached_passwords(&config)),
        !wiring::tiers::is_server(&config)
            || check_listener("accounts.listen", config.accounts.listen, server_runs),
        print_results(runtime.block_on(wiring::probe_pictures(&config))),
        !is_web(&config) || print_sandbox(),
        !is_web(&config) || print_results(wiring::probe_logo(&config)),
        !is_web(&config) || check_listener("http.listen", config.http.listen, server_runs),
        check_listener("ops.listen", config.ops.listen, server_runs),
    ];
    warn(&config);
    Ok(if good.iter().all(|good| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether the folder is usable, and whether a running server holds it.
fn check_folder(config: &Config) -> (bool, bool) {
    let folder = config.data.display();
    match lodge_sqlite::inspect(&config.data) {
        Ok(Inspected::NoDatabase) => {
            outln!("ok    data folder {folder}: no database; lodge serve creates it");
        }
        Ok(Inspected::Usable { version, newest }) if version == newest => {
            outln!("ok    data folder {folder}: format {version}");
        }
        Ok(Inspected::Usable { version, newest }) => {
            outln!(
                "note  data folder {folder}: format {version}; lodge serve upgrades it to {newest}, \
                 which older versions cannot open: back up first"
            );
        }
        Ok(Inspected::InUse) => {
            outln!("ok    data folder {folder}: in use by a running server");
            return (true, true);
        }
        Err(error) => {
            outln!("BAD   data folder {folder}: {:#}", anyhow::Error::new(error));
            return (false, false);
        }
    }
    (true, false)
}

fn probe_blocklist(config: &Config) -> Option<Result<String>> {
    let (blocklist, file) = (Blocklist::default(), &config.links.blocklist);
    let read =
        (!file.as_os_str().is_empty()).then(|| wiring::reload_blocklist(&blocklist, file))?;
    Some(read.map(|()| "links.blocklist: readable".to_owned()))
}

fn is_web(config: &Config) -> bool {
    config.roles.contains(&Role::Web)
}

/// Prints the results of probes. Returns whether all succeeded.
fn print_results(probes: impl IntoIterator<Item = Result<String>>) -> bool {
    let mut all_good = true;
    for probed in probes {
        match probed {
            Ok(found) => outln!("ok    {found}"),
            Err(error) => {
                all_good = false;
                // That the configuration is invalid goes without saying here.
                let skipped = usize::from(error.to_string() == BadConfig.to_string());
                let causes = error.chain().skip(skipped).map(ToString::to_string);
                outln!("BAD   {}", causes.collect::<Vec<_>>().join(": "));
            }
        }
    }
    all_good
}

/// Prints how the picture decoder is isolated. Always returns true, as the server starts without a sandbox, too.
fn print_sandbox() -> bool {
    let sandbox = probe_sandbox();
    let result = if sandbox.is_complete() { "ok  " } else { "note" };
    outln!("{result}  picture decoder: sandbox: {sandbox}");
    true
}

fn check_listener(key: &str, address: std::net::SocketAddr, server_runs: bool) -> bool {
    match TcpListener::bind(address) {
        Ok(_) => outln!("ok    {key}: {address} is free"),
        Err(_) if server_runs => {
            outln!("ok    {key}: {address} is in use; a server is running on the data folder");
        }
        Err(error) => {
            let remedy = bind_remedy(key, error.kind());
            outln!("BAD   {key}: cannot listen on {address}: {remedy}: {error}");
            return false;
        }
    }
    true
}

fn warn(config: &Config) {
    for setting in config.unencrypted() {
        outln!("note  {setting}: connections to other machines are not encrypted");
    }
    for app in config.unshared_apps() {
        outln!(
            "note  {app}.store: data in the data folder is visible to this process only; serve {app} from one process"
        );
    }
    if config.links.writes == Writes::Behind && !config.roles.contains(&Role::Worker) {
        outln!(
            "note  roles: links.writes = \"behind\" needs a process with the role \"worker\", or links are never stored"
        );
    }
    if !is_web(config) {
        return;
    }
    if config.public_url.is_empty() && !config.http.listen.ip().is_loopback() {
        outln!("note  public_url is not set: short URLs are built from each request's Host header");
    }
    if config.links.anonymous_creation && !config.http.listen.ip().is_loopback() {
        outln!(
            "note  links.anonymous_creation is on: every client that can reach {} can create links",
            config.http.listen
        );
    }
}
