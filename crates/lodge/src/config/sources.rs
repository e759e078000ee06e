//! Reads the configuration from its sources and checks it.

use std::{env, ffi::OsString, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use lodge_domain::links::Origin;
use toml::{Table, Value};

use super::{
    App, Config, Role, accounts, engines, http,
    options::ConfigOptions,
    rides, site,
    stores::{AccountsStore, LinkStore},
};

/// The configuration file that is read if no other is named.
const DEFAULT_FILE: &str = "lodge.toml";

/// The environment variable that names the configuration file.
const FILE_VARIABLE: &str = "LODGE_CONFIG";

/// The prefix of all environment variables.
const PREFIX: &str = "LODGE_";

/// The similarity (Jaro-Winkler, 0 to 1) from which a setting is taken for a misspelt one.
const ALIKE_MIN: f64 = 0.8;

/// The most threads of one kind.
const THREADS_MAX: usize = 256;

/// An invalid configuration, on which the process exits with 78 (`EX_CONFIG`).
#[derive(Debug, thiserror::Error)]
#[error("invalid configuration")]
pub(crate) struct BadConfig;

/// Reads defaults, file, environment and command line; each overrides the one before.
pub(crate) fn load(options: &ConfigOptions) -> Result<Config> {
    read(options, env::vars_os()).context(BadConfig)
}

fn read(
    options: &ConfigOptions,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Config> {
    let variables = lodge_variables(variables)?;
    let mut settings = Table::try_from(Config::default())?;
    let keys = keys_of(&settings);
    let file = options.config.clone().or_else(|| {
        variables.iter().find(|(name, _)| name == FILE_VARIABLE).map(|(_, file)| file.into())
    });
    let given = match file {
        Some(file) => read_file(&file)?,
        None if Path::new(DEFAULT_FILE).exists() => read_file(Path::new(DEFAULT_FILE))?,
        None => Table::new(),
    };
    check_keys(&given, &keys)?;
    let named_apps = given.contains_key("apps")
        || variables.iter().any(|(name, _)| *name == variable("apps"))
        || options.apps.is_some();
    merge(&mut settings, given);
    for (name, text) in variables.iter().filter(|(name, _)| name != FILE_VARIABLE) {
        let given = table_from_variable(&keys, name, text)?;
        check_keys(&given, &keys)?;
        merge(&mut settings, given);
    }
    let mut config: Config = serde_path_to_error::deserialize(settings)
        .map_err(|error| anyhow!("{}: {}", error.path(), plain(error.inner().message())))?;
    apply(&mut config, options);
    if !named_apps && config.links.store != LinkStore::Sqlite {
        config.apps.retain(|app| !matches!(app, App::Rides | App::Board));
        if config.stores_accounts_in(AccountsStore::Sqlite) && config.roles.contains(&Role::Web) {
            bail!(
                "apps must be set explicitly with links.store = \"cassandra\": \"accounts\", \"rides\" and \
                 \"board\" would be stored in the data folder of this process, which other processes with \
                 the same links cannot read"
            );
        }
    }
    if config.apps.contains(&App::Board) && !config.apps.contains(&App::Accounts) {
        config.apps.push(App::Accounts);
    }
    check(&config)?;
    Ok(config)
}

/// Returns the variables with Lodge's prefix. Other variables are ignored, even if they are not UTF-8.
fn lodge_variables(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>> {
    variables
        // A name that is not UTF-8 becomes one that matches no setting, and is refused as unknown.
        .map(|(name, text)| (name.to_string_lossy().into_owned(), text))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .map(|(name, text)| {
            let text = text.into_string().map_err(|_| anyhow!("{name} is not valid UTF-8"));
            text.map(|text| (name, text))
        })
        .collect()
}

fn read_file(file: &Path) -> Result<Table> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    text.parse().with_context(|| format!("{} is not valid TOML", file.display()))
}

/// Overrides `settings` with the values of `given`, recursively.
pub(super) fn merge(settings: &mut Table, given: Table) {
    for (name, value) in given {
        match (settings.get_mut(&name), value) {
            (Some(Value::Table(section)), Value::Table(given)) => merge(section, given),
            (_, value) => drop(settings.insert(name, value)),
        }
    }
}

/// Returns every key as `section.key`, with its value.
fn keys_of(table: &Table) -> Vec<(String, Value)> {
    let keys = table.iter().flat_map(|(name, value)| match value {
        Value::Table(section) => {
            let keys = keys_of(section).into_iter();
            keys.map(|(key, value)| (format!("{name}.{key}"), value)).collect()
        }
        value => vec![(name.clone(), value.clone())],
    });
    keys.collect()
}

/// Refuses unknown settings, values of another type than the default's, and negative numbers.
fn check_keys(given: &Table, known: &[(String, Value)]) -> Result<()> {
    for (key, value) in keys_of(given) {
        let Some((_, default)) = known.iter().find(|(known, _)| *known == key) else {
            bail!(unknown_setting(&key, known.iter().map(|(known, _)| known.as_str())));
        };
        let is_negative = value.as_integer().is_some_and(|value| value < 0);
        let is_valid = value.same_type(default) && !is_negative;
        ensure!(is_valid, "{key} must be {}, not {value}", kind_of(default));
    }
    Ok(())
}

/// Returns the error about an unknown setting, with the known one that it resembles.
fn unknown_setting<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    // Names of variables share a prefix, which says nothing about likeness.
    let own = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let alike = known.map(|known| (strsim::jaro_winkler(&own(known), &own(given)), known));
    let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(alike, _)| *alike >= ALIKE_MIN);
    let advice = nearest.map(|(_, known)| format!("did you mean {known}?"));
    let advice = advice.unwrap_or_else(|| "docs/lodge.toml lists all settings".to_owned());
    format!("unknown setting {given}; {advice}")
}

/// Rewords Serde's error about an unknown variant of an enum, or a value that does not fit.
fn plain(message: &str) -> String {
    let Some((given, expected)) = message.split_once(", expected ") else {
        return message.to_owned();
    };
    if let Some(given) = given.strip_prefix("unknown variant ") {
        return format!("must be {expected}, not {given}").replace('`', "\"");
    }
    if let Some(length) = expected.strip_prefix("an array of length ") {
        return format!("must be a list of {length} values");
    }
    if !matches!(expected, "u8" | "u16" | "u32" | "u64" | "usize") {
        return message.to_owned();
    }
    let given = given.rsplit(' ').next().unwrap_or(given).replace('`', "");
    format!("must be a whole number in the documented range, not {given}")
}

/// Returns the environment variable of a key: `LODGE_HTTP_LISTEN` for `http.listen`.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Converts an environment variable to the equivalent TOML. The type follows from the default value.
fn table_from_variable(keys: &[(String, Value)], name: &str, text: &str) -> Result<Table> {
    let Some((key, default)) = keys.iter().find(|(key, _)| variable(key) == name) else {
        let names: Vec<String> = keys.iter().map(|(key, _)| variable(key)).collect();
        bail!(unknown_setting(name, names.iter().map(String::as_str)));
    };
    let value = match default {
        Value::String(_) => Value::String(text.to_owned()),
        Value::Array(items) => toml_array(text)
            .or_else(|| list(text, items))
            .with_context(|| format!("{name} must be whole numbers separated by commas"))?,
        _ => format!("value = {text}")
            .parse::<Table>()
            .ok()
            .and_then(|table| table.get("value").cloned())
            .with_context(|| format!("{name} must be {}, not {text:?}", kind_of(default)))?,
    };
    let table = |name: &str, value: Value| Table::from_iter([(name.to_owned(), value)]);
    Ok(match key.split_once('.') {
        Some((section, key)) => table(section, table(key, value).into()),
        None => table(key, value),
    })
}

/// Parses a comma-separated list: of integers if the default has integers, otherwise of strings. Returns `None` if
/// an item is not an integer.
fn list(text: &str, default: &[Value]) -> Option<Value> {
    let numbers = matches!(default.first(), Some(Value::Integer(_)));
    let item = |item: &str| {
        let number = || item.parse().ok().map(Value::Integer);
        if numbers { number() } else { Some(Value::String(item.to_owned())) }
    };
    text.split(',').map(|text| item(text.trim())).collect::<Option<_>>().map(Value::Array)
}

/// Parses a TOML array. Returns `None` for other text: a comma-separated list may also begin with a bracket, as an
/// IPv6 address does.
fn toml_array(text: &str) -> Option<Value> {
    let table: Table = format!("value = {text}").parse().ok()?;
    table.get("value").filter(|value| value.is_array()).cloned()
}

/// Returns the type of a value, for an error message.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "a whole number that is not negative",
        Value::Boolean(_) => "true or false",
        Value::Float(_) => "a number",
        Value::String(_) => "text in quotes",
        Value::Array(_) => "a list in brackets",
        Value::Table(_) => "a section",
        Value::Datetime(_) => "a date",
    }
}

fn apply(config: &mut Config, options: &ConfigOptions) {
    if let Some(data) = &options.data {
        config.data.clone_from(data);
    }
    if let Some(listen) = options.listen {
        config.http.listen = listen;
    }
    if let Some(listen) = options.ops_listen {
        config.ops.listen = listen;
    }
    if let Some(apps) = &options.apps {
        config.apps.clone_from(apps);
    }
    if let Some(roles) = &options.roles {
        config.roles.clone_from(roles);
    }
}

fn check(config: &Config) -> Result<()> {
    let url = &config.public_url;
    if !url.is_empty()
        && (Origin::parse(url).is_none()
            || !(url.starts_with("http://") || url.starts_with("https://")))
    {
        bail!("public_url must be a URL such as https://go.example.org, not {url:?}");
    }
    if url.matches('/').count() > 2 {
        bail!("public_url must have neither a path nor a trailing slash, not {url:?}");
    }
    let positive = [
        ("http.connections_max", config.http.connections_max as u64),
        ("http.connections_per_address_max", config.http.connections_per_address_max as u64),
        ("http.header_timeout_s", config.http.header_timeout_s),
        ("http.request_timeout_s", config.http.request_timeout_s),
        ("http.write_timeout_s", config.http.write_timeout_s),
        ("accounts.connections_max", config.accounts.connections_max as u64),
        ("accounts.connections", config.accounts.connections as u64),
        ("accounts.session_days", u64::from(config.accounts.session_days)),
        ("accounts.idle_days", u64::from(config.accounts.idle_days)),
        ("embedded.page_cache_mib", u64::from(config.embedded.page_cache_mib)),
        ("embedded.readers", config.embedded.readers as u64),
        ("embedded.queue_max", config.embedded.queue_max as u64),
        ("passwords.queue_max", config.passwords.queue_max as u64),
    ];
    if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
        bail!("{key} must be at least 1, not 0");
    }
    let threads = [
        ("embedded.readers", config.embedded.readers),
        ("passwords.threads", config.passwords.threads),
    ];
    if let Some((key, value)) = threads.iter().find(|(_, value)| *value > THREADS_MAX) {
        bail!("{key} must be at most {THREADS_MAX}, not {value}");
    }
    ensure!(!config.data.as_os_str().is_empty(), "data must name a folder, not be empty");
    if config.http.listen == config.ops.listen && config.http.listen.port() != 0 {
        bail!("http.listen and ops.listen must differ; both are {}", config.http.listen);
    }
    http::check(&config.http)?;
    engines::check(config)?;
    accounts::check(config)?;
    rides::check(&config.rides)?;
    site::check(&config.site)?;
    config.log.levels()?;
    ensure!(!config.apps.is_empty(), "apps must name at least one app");
    ensure!(!config.roles.is_empty(), "roles must name at least one role");
    let is_idle =
        config.roles.iter().all(|role| *role == Role::Accounts) && !config.stores_accounts();
    ensure!(
        !is_idle,
        "the role \"accounts\" requires the app \"accounts\": this process would serve nothing"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
