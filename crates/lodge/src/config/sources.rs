//! Reads the configuration from its sources and checks it.

use std::{env, ffi::OsString, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use lodge_domain::links::Origin;
use toml::{Table, Value};
use tracing_subscriber::EnvFilter;

use super::{
    App, Config, Role, accounts, engines, options::ConfigOptions, rides, site, stores::LinkStore,
};

/// The configuration file that is read if no other is named.
const DEFAULT_FILE: &str = "lodge.toml";

/// The environment variable that names the configuration file.
const FILE_VARIABLE: &str = "LODGE_CONFIG";

/// The prefix of all environment variables.
const PREFIX: &str = "LODGE_";

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
    refuse_unknown(&given, &keys)?;
    let named_apps = given.contains_key("apps")
        || variables.iter().any(|(name, _)| *name == variable("apps"))
        || options.apps.is_some();
    merge(&mut settings, given);
    for (name, text) in variables.iter().filter(|(name, _)| name != FILE_VARIABLE) {
        merge(&mut settings, table_from_variable(&keys, name, text)?);
    }
    let mut config: Config = serde_path_to_error::deserialize(settings)
        .map_err(|error| anyhow!("{}: {}", error.path(), error.inner().message()))?;
    apply(&mut config, options);
    if !named_apps && config.links.store != LinkStore::Sqlite {
        config.apps.retain(|app| !matches!(app, App::Rides | App::Board));
        if config.stores_accounts() && config.roles.contains(&Role::Web) {
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

fn refuse_unknown(given: &Table, known: &[(String, Value)]) -> Result<()> {
    for (key, _) in keys_of(given) {
        if !known.iter().any(|(known, _)| *known == key) {
            let nearest = nearest(&key, known.iter().map(|(known, _)| known.as_str()));
            bail!("unknown setting {key}; did you mean {nearest}?");
        }
    }
    Ok(())
}

/// Returns the environment variable of a key: `LODGE_HTTP_LISTEN` for `http.listen`.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Converts an environment variable to the equivalent TOML. The type follows from the default value.
fn table_from_variable(keys: &[(String, Value)], name: &str, text: &str) -> Result<Table> {
    let Some((key, default)) = keys.iter().find(|(key, _)| variable(key) == name) else {
        let names: Vec<String> = keys.iter().map(|(key, _)| variable(key)).collect();
        let nearest = nearest(name, names.iter().map(String::as_str));
        bail!("unknown setting {name}; did you mean {nearest}?");
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
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Float(_) => "a number",
        _ => "of the same type as its default",
    }
}

fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> &'a str {
    known
        .max_by(|a, b| strsim::jaro_winkler(a, given).total_cmp(&strsim::jaro_winkler(b, given)))
        .unwrap_or_default()
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
        ("http.header_timeout_s", config.http.header_timeout_s),
        ("http.request_timeout_s", config.http.request_timeout_s),
        ("http.write_timeout_s", config.http.write_timeout_s),
        ("accounts.connections_max", config.accounts.connections_max as u64),
        ("accounts.connections", config.accounts.connections as u64),
        ("accounts.session_days", u64::from(config.accounts.session_days)),
        ("embedded.page_cache_mib", u64::from(config.embedded.page_cache_mib)),
        ("embedded.readers", config.embedded.readers as u64),
        ("embedded.queue_max", config.embedded.queue_max as u64),
        ("passwords.queue_max", config.passwords.queue_max as u64),
    ];
    if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
        bail!("{key} must be at least 1, not 0");
    }
    ensure!(!config.data.as_os_str().is_empty(), "data must name a folder, not be empty");
    if config.http.listen == config.ops.listen && config.http.listen.port() != 0 {
        bail!("http.listen and ops.listen must differ; both are {}", config.http.listen);
    }
    engines::check(config)?;
    accounts::check(config)?;
    rides::check(&config.rides)?;
    site::check(&config.site)?;
    EnvFilter::try_new(&config.log.filter)
        .with_context(|| format!("log.filter cannot be parsed: {:?}", config.log.filter))?;
    ensure!(!config.apps.is_empty(), "apps must name at least one app");
    ensure!(!config.roles.is_empty(), "roles must name at least one role");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Config> {
        read(
            &ConfigOptions::default(),
            variables.iter().map(|(name, text)| (OsString::from(*name), OsString::from(*text))),
        )
    }

    /// Returns the error of an invalid configuration.
    fn refused(variables: &[(&str, &str)]) -> String {
        format!("{:#}", with(variables).unwrap_err())
    }

    #[test]
    fn invalid_utf_8_is_an_error_only_in_variables_of_lodge() {
        let not_utf_8 = |start: &str| OsString::from_vec([start.as_bytes(), b"\xff"].concat());
        let with = |name: OsString, text: OsString| {
            read(&ConfigOptions::default(), std::iter::once((name, text)))
        };
        assert!(with("PATH".into(), not_utf_8("/")).is_ok());
        assert!(with(not_utf_8("PATH"), not_utf_8("/")).is_ok());
        for name in ["LODGE_LINKS_MODE", "LODGE_CONFIG"] {
            let error = with(name.into(), not_utf_8("x")).unwrap_err();
            let expected = format!("{name} is not valid UTF-8");
            assert!(format!("{error:#}").contains(&expected), "{error:#}");
        }
        let error = with(not_utf_8("LODGE_DATA"), "x".into()).unwrap_err();
        assert!(format!("{error:#}").contains("unknown setting LODGE_DATA"), "{error:#}");
    }

    #[test]
    fn every_key_is_an_environment_variable() {
        let config = with(&[
            ("LODGE_HTTP_LISTEN", "0.0.0.0:80"),
            ("LODGE_LINKS_MODE", "replace"),
            ("LODGE_LOG_REQUESTS", "true"),
            ("LODGE_APPS", "links"),
        ])
        .unwrap();
        assert_eq!(config.http.listen.port(), 80);
        assert!(config.log.requests);
    }

    #[test]
    fn a_worker_needs_no_accounts_server() {
        assert!(with(&[("LODGE_ROLES", "worker")]).is_ok());
        let error = refused(&[("LODGE_ROLES", "web,worker")]);
        assert!(error.contains("accounts.servers"), "{error}");
    }

    #[test]
    fn the_board_brings_accounts() {
        let apps = |apps: &str| with(&[("LODGE_APPS", apps)]).unwrap().apps;
        assert_eq!(apps("board"), [App::Board, App::Accounts]);
        assert_eq!(apps("accounts,board"), [App::Accounts, App::Board]);
    }

    #[test]
    fn resorts_are_written_as_toml() {
        let config = with(&[
            (
                "LODGE_RIDES_RESORTS",
                r#"[{ id = 3, name = "Here", lifts = [{ id = 1, vertical = 7 }] }]"#,
            ),
            ("LODGE_RIDES_SEASONS", "[2024, 2026]"),
        ]);
        let rides = config.unwrap().rides;
        assert_eq!((rides.resorts[0].lifts[0].vertical, rides.seasons), (7, [2024, 2026]));
        for (variable, value, key) in [
            ("LODGE_RIDES_RESORTS", r#"[{ id = -1, name = "x" }]"#, "rides.resorts[0].id"),
            ("LODGE_RIDES_RESORTS", r"[{ id = 1 }]", "name"),
            ("LODGE_RIDES_RESORTS", r#"[{ id = 1, name = "x", lift = [] }]"#, "lift"),
            ("LODGE_RIDES_SEASONS", "[2024]", "rides.seasons"),
            ("LODGE_RIDES_DAYS_MAX", "70000", "rides.days_max"),
        ] {
            let error = refused(&[(variable, value)]);
            assert!(error.contains(key), "{value}: {error}");
        }
    }

    #[test]
    fn a_list_is_written_with_commas_or_as_toml() {
        let config = with(&[("LODGE_REDIS_MASTERS", "a, b")]).unwrap();
        assert_eq!(config.redis.masters, ["a", "b"]);
        for seasons in ["2024,2025", " 2024 , 2025 ", "[2024, 2025]"] {
            let config = with(&[("LODGE_RIDES_SEASONS", seasons)]).unwrap();
            assert_eq!(config.rides.seasons, [2024, 2025], "{seasons}");
        }
        for seasons in ["2024,x", "2024,", ""] {
            let error = refused(&[("LODGE_RIDES_SEASONS", seasons)]);
            assert!(error.contains("LODGE_RIDES_SEASONS must be whole numbers"), "{error}");
        }
        let config = with(&[
            ("LODGE_APPS", "accounts"),
            ("LODGE_ROLES", "web"),
            ("LODGE_ACCOUNTS_KEY_FILE", "key"),
            ("LODGE_ACCOUNTS_SERVERS", "[::1]:7070,[::1]:7071"),
            ("LODGE_PUBLIC_URL", "https://go.example.org"),
            ("LODGE_ACCOUNTS_PICTURES", "pictures"),
            (
                "LODGE_ACCOUNTS_PROVIDERS",
                r#"[{ name = "acme", issuer = "https://id.example.org", client_id = "lodge" }]"#,
            ),
        ]);
        let config = config.unwrap();
        assert_eq!(config.accounts.servers, ["[::1]:7070", "[::1]:7071"]);
        assert_eq!(config.accounts.providers[0].scopes, ["profile"]);
        let error = refused(&[("LODGE_ACCOUNTS_PROVIDERS", r#"[{ isuer = "x" }]"#)]);
        assert!(error.contains("issuer"), "{error}");
    }

    #[test]
    fn servers_of_an_unused_engine_are_refused() {
        for (name, server) in
            [("LODGE_CASSANDRA_NODES", "a:9042"), ("LODGE_REDIS_SENTINELS", "a:26379")]
        {
            let error = refused(&[(name, server)]);
            assert!(error.contains("links.store = \"cassandra\""), "{error}");
        }
    }

    #[test]
    fn beside_a_cluster_only_named_apps_are_stored_in_the_data_folder() {
        let cluster = [("LODGE_LINKS_STORE", "cassandra"), ("LODGE_CASSANDRA_NODES", "a:9042")];
        let error = refused(&cluster);
        assert!(error.contains("apps must be set explicitly"), "{error}");
        let links = [&cluster[..], &[("LODGE_APPS", "links")]].concat();
        assert!(!with(&links).unwrap().uses_data_folder());
        let web = [
            ("LODGE_ROLES", "web"),
            ("LODGE_ACCOUNTS_SERVERS", "b:7070"),
            ("LODGE_ACCOUNTS_KEY_FILE", "key"),
            ("LODGE_ACCOUNTS_PICTURES", "pictures"),
        ];
        let config = with(&[&cluster[..], &web].concat()).unwrap();
        assert_eq!(config.apps, [App::Links, App::Accounts]);
        assert!(!config.uses_data_folder(), "accounts are stored elsewhere");
        let named = [&cluster[..], &[("LODGE_APPS", "links,accounts,rides,board")]].concat();
        let config = with(&named).unwrap();
        assert!(config.uses_link_store(LinkStore::Cassandra) && config.uses_data_folder());
        let worker = [&named[..], &[("LODGE_ROLES", "worker")]].concat();
        assert!(!with(&worker).unwrap().uses_data_folder(), "a worker stores only links");
        let backend = [("LODGE_ROLES", "accounts"), ("LODGE_ACCOUNTS_KEY_FILE", "key")];
        let config = with(&[&named[..], &backend].concat()).unwrap();
        assert!(!config.uses_link_store(LinkStore::Cassandra), "accounts alone need no links");
        let config = with(&[&cluster[..], &backend].concat()).unwrap();
        assert!(config.stores_accounts(), "the role implies the app");
        assert_eq!(with(&[]).unwrap().apps.len(), 4);
    }

    #[test]
    fn the_former_name_of_the_store_in_the_data_folder_still_works() {
        let config = with(&[("LODGE_LINKS_STORE", "embedded")]).unwrap();
        assert_eq!(config.links.store, LinkStore::Sqlite);
    }

    #[test]
    fn an_invalid_number_is_an_error_that_names_the_expected_type() {
        let error = refused(&[("LODGE_RABBITMQ_QUEUE_MAX", "many")]);
        assert!(error.contains("must be a whole number"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        let error = refused(&[("LODGE_HTTP_LISTN", "0.0.0.0:80")]);
        assert!(error.contains("LODGE_HTTP_LISTEN"), "{error}");
        let table = "[links]\nmod = 'claim'".parse().unwrap();
        let known = keys_of(&Table::try_from(Config::default()).unwrap());
        let error = refuse_unknown(&table, &known).unwrap_err();
        assert!(format!("{error:#}").contains("links.mode"), "{error:#}");
    }

    #[test]
    fn a_bad_value_is_named() {
        let error = refused(&[("LODGE_LINKS_MODE", "clam")]);
        assert!(error.contains("links.mode"), "{error}");
    }

    #[test]
    fn an_invalid_value_is_refused() {
        for pair in [
            ("LODGE_HTTP_LISTEN", "nowhere"),
            ("LODGE_PUBLIC_URL", "go.example.org"),
            ("LODGE_PUBLIC_URL", "ftp://a.b"),
            ("LODGE_PUBLIC_URL", "https://a b"),
            ("LODGE_PUBLIC_URL", "https://a.b/"),
            ("LODGE_PUBLIC_URL", "https://a.b/c"),
            ("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "0"),
            ("LODGE_LINKS_MODE", "both"),
            ("LODGE_EMBEDDED_READERS", "0"),
            ("LODGE_EMBEDDED_READERS", "many"),
            ("LODGE_DATA", ""),
            ("LODGE_LOG_FILTER", "in fo=="),
            ("LODGE_OPS_LISTEN", "127.0.0.1:8080"),
        ] {
            assert!(with(&[pair]).is_err(), "{pair:?}");
        }
    }
}
