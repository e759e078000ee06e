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

/// Returns the error of an invalid file.
fn refused_file(file: &str) -> String {
    let keys = keys_of(&Table::try_from(Config::default()).unwrap());
    check_keys(&file.parse().unwrap(), &keys).unwrap_err().to_string()
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
fn a_number_that_does_not_fit_is_refused_without_a_type_of_rust() {
    for (name, text, expected) in [
        (
            "LODGE_RIDES_DAYS_MAX",
            "99999",
            "rides.days_max: must be a whole number in the documented range, not 99999",
        ),
        (
            "LODGE_RIDES_SEASONS",
            "-1, 2025",
            "rides.seasons[0]: must be a whole number in the documented range, not -1",
        ),
    ] {
        assert_eq!(refused(&[(name, text)]), expected);
    }
}

#[test]
fn a_process_that_would_serve_nothing_is_refused() {
    let error = refused(&[("LODGE_APPS", "links"), ("LODGE_ROLES", "accounts")]);
    assert!(error.contains("this process would serve nothing"), "{error}");
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
        ("LODGE_RIDES_SEASONS", "[2024]", "rides.seasons: must be a list of 2 values"),
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
    assert_eq!(
        refused_file("[links]\nmod = 'claim'"),
        "unknown setting links.mod; did you mean links.mode?"
    );
    let error = refused_file("[mail.smtp]\nserver = 'a'");
    assert_eq!(error, "unknown setting mail.smtp.server; docs/lodge.toml lists all settings");
}

#[test]
fn a_value_of_another_type_is_an_error_in_plain_words() {
    for (file, error) in [
        ("[http]\nlisten = 5", "http.listen must be text in quotes, not 5"),
        ("[log]\nrequests = 'yes'", "log.requests must be true or false, not \"yes\""),
        (
            "[http]\nconnections_max = -1",
            "http.connections_max must be a whole number that is not negative, not -1",
        ),
    ] {
        assert_eq!(refused_file(file), error);
    }
    let error = refused(&[("LODGE_HTTP_CONNECTIONS_MAX", "-1")]);
    assert!(error.contains("that is not negative, not -1"), "{error}");
    let error = refused(&[("LODGE_LOG_FORMAT", "xml")]);
    assert!(error.contains("log.format: must be \"human\" or \"json\", not \"xml\""), "{error}");
}

#[test]
fn a_bad_value_is_named() {
    let error = refused(&[("LODGE_LINKS_MODE", "clam")]);
    assert!(error.contains("links.mode"), "{error}");
}

#[test]
fn trusted_proxies_are_networks_and_addresses() {
    for list in ["10.0.0.0/8,192.0.2.7", "[]", r#"["127.0.0.0/8", "::1"]"#, "2001:db8::/32"] {
        assert!(with(&[("LODGE_HTTP_TRUSTED_PROXIES", list)]).is_ok(), "{list}");
    }
    let error = refused(&[("LODGE_HTTP_TRUSTED_PROXIES", "10.0.0.0/8,proxy.example")]);
    assert!(error.contains(r#"such as ::1, not "proxy.example""#), "{error}");
    let alone = [("LODGE_HTTP_TRUSTED_PROXIES", "[]"), ("LODGE_HTTP_PROXY_PROTOCOL", "true")];
    assert!(refused(&alone).contains("http.proxy_protocol needs"));
}

#[test]
fn an_invalid_value_is_refused() {
    for pair in [
        ("LODGE_HTTP_LISTEN", "nowhere"),
        ("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "0"),
        ("LODGE_PUBLIC_URL", "go.example.org"),
        ("LODGE_PUBLIC_URL", "ftp://a.b"),
        ("LODGE_PUBLIC_URL", "https://a b"),
        ("LODGE_PUBLIC_URL", "https://a.b/"),
        ("LODGE_PUBLIC_URL", "https://a.b/c"),
        ("LODGE_ACCOUNTS_PICTURE_KIB_MAX", "0"),
        ("LODGE_LINKS_MODE", "both"),
        ("LODGE_EMBEDDED_READERS", "0"),
        ("LODGE_EMBEDDED_READERS", "many"),
        ("LODGE_EMBEDDED_READERS", "257"),
        ("LODGE_PASSWORDS_THREADS", "257"),
        ("LODGE_DATA", ""),
        ("LODGE_LOG_FILTER", "in fo=="),
        ("LODGE_OPS_LISTEN", "127.0.0.1:8080"),
    ] {
        assert!(with(&[pair]).is_err(), "{pair:?}");
    }
}
