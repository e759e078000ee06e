//! `lodge check` reports what works and what does not.

use std::{fs, net::TcpListener};

use crate::{
    Lodge, text,
    tiers::{Tiers, authority, tls, with},
};

const FREE: [&str; 5] = ["check", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];

#[test]
fn a_good_configuration_is_reported_line_by_line() {
    let lodge = Lodge::new();
    let ran = lodge.run(&FREE);
    let apps = "configuration: apps links, accounts, rides, board";
    ran.says(0, &[apps, "no database; lodge serve creates it"]);
    assert!(ran.out.lines().all(|line| line.starts_with("ok    ")), "{}", ran.out);
    assert!(!lodge.data().exists(), "a check creates nothing");
    let server = lodge.start();
    let (public, ops) = (server.address.to_string(), server.ops.to_string());
    let ran = lodge.run(&["check", "--listen", &public, "--ops-listen", &ops]);
    ran.says(0, &["in use by a running server", "is in use; a server is running"]);
    server.stop();
    lodge.run(&FREE).prints("format 27");
}

#[test]
fn a_bad_configuration_is_reported_and_exits_with_1() {
    let lodge = Lodge::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = lodge.run(&["check", "--listen", &address, "--ops-listen", "127.0.0.1:0"]);
    ran.says(1, &["BAD   http.listen: cannot listen on", "ok    ops.listen"]);

    let missing = lodge.file("missing.txt");
    let lodge = lodge.with("LODGE_LINKS_BLOCKLIST", text(&missing));
    lodge.run(&FREE).says(1, &["BAD   links.blocklist"]);

    let lodge = Lodge::new();
    let in_the_way = lodge.write("pictures", "a file where a folder should be");
    let lodge = lodge.with("LODGE_ACCOUNTS_PICTURES", text(&in_the_way));
    lodge.run(&FREE).says(1, &["BAD   accounts.pictures"]);
    lodge.run(&["serve"]).fails("accounts.pictures");

    let open = Lodge::new();
    let ran = open.run(&["check", "--listen", "0.0.0.0:0", "--ops-listen", "127.0.0.1:0"]);
    // A note does not fail the check.
    ran.says(0, &["note  public_url", "can create links"]);
}

#[test]
fn plain_connections_to_other_machines_are_reported() {
    let plain = "note  redis.tls is false: connections to other machines are not encrypted";
    let check = |sentinels: &str, tls: &str| {
        let lodge = Lodge::new()
            .with("LODGE_APPS", "links")
            .with("LODGE_LINKS_STORE", "cassandra")
            .with("LODGE_CASSANDRA_NODES", "127.0.0.1:1")
            .with("LODGE_REDIS_SENTINELS", sentinels)
            .with("LODGE_REDIS_MASTERS", "lodge")
            .with("LODGE_REDIS_TLS", tls);
        lodge.run(&FREE).out
    };
    assert!(check("127.0.0.1:2,192.0.2.1:2", "false").contains(plain));
    assert!(!check("127.0.0.1:2,127.0.0.2:2", "false").contains(plain));
    assert!(!check("127.0.0.1:2,192.0.2.1:2", "true").contains(plain));
}

#[test]
fn a_check_of_connected_tiers_succeeds() {
    let (_folder, ours) = authority();
    let (tiers, accounts, _web) = Tiers::new().and(&tls(&ours)).start();
    let ran = tiers.another_web().run(&FREE);
    let address = accounts.wire.unwrap();
    let lets_in = format!("ok    accounts.servers: {address} accepts");
    // The default expiry of generated certificates.
    ran.says(0, &[&lets_in, "server.pem: valid until 4096-01-01"]);
    assert!(!ran.out.contains("accounts.listen"), "{}", ran.out);
    let ran = tiers.accounts.run(&["check", "--ops-listen", &accounts.ops.to_string()]);
    let taken = format!("ok    accounts.listen: {address} is in use; a server");
    ran.says(0, &["ok    accounts: can be served", &taken]);
    assert!(!ran.out.contains("http.listen"), "it has no public listener: {}", ran.out);
    assert!(accounts.metric("lodge_wire_hellos_failed_total") < 1.0, "the check was authenticated");
}

/// A process with pictures in a bucket that it cannot reach.
fn with_bucket(changes: &[(&str, &str)]) -> Lodge {
    let lodge = Lodge::new();
    let secret = lodge.write("secret", "a secret of a key");
    let settings = [
        ("LODGE_PICTURES_STORE", "s3"),
        ("LODGE_S3_ENDPOINT", "http://127.0.0.1:1"),
        ("LODGE_S3_REGION", "us-east-1"),
        ("LODGE_S3_BUCKET", "pictures"),
        ("LODGE_S3_ACCESS_KEY_ID", "lodge"),
        ("LODGE_S3_SECRET_ACCESS_KEY_FILE", text(&secret)),
    ];
    let all = settings.iter().chain(changes);
    all.fold(lodge, |lodge, (name, value)| lodge.with(name, value))
}

#[test]
fn wrong_settings_of_a_bucket_are_refused_by_their_names() {
    is_bad(&with_bucket(&[]), &["pictures: the bucket pictures is not usable", "refused"]);
    for (setting, value, words) in [
        ("PICTURES_STORE", "files", "s3.bucket requires pictures.store = \"s3\""),
        ("PICTURES_STORE", "s4", "pictures.store"),
        ("S3_ENDPOINT", "127.0.0.1:9000", "s3.endpoint must be an http or https URL"),
        ("S3_ENDPOINT", "ftp://127.0.0.1", "s3.endpoint must be an http or https URL"),
        ("S3_ENDPOINT", "https://", "s3.endpoint must be an http or https URL"),
        ("S3_ENDPOINT", "http://a:hidden@127.0.0.1:1", "s3.endpoint must have no password"),
        (
            "S3_ENDPOINT",
            "http://127.0.0.1:1/?a=b",
            "s3.endpoint must have no query and no fragment",
        ),
        ("S3_REGION", "", "s3.region must be set"),
        ("S3_BUCKET", "", "s3.bucket must be set"),
        ("S3_BUCKET", "Pictures", "s3.bucket must be 3 to 63 lower-case letters"),
        ("S3_BUCKET", "a/../b", "s3.bucket must be 3 to 63 lower-case letters"),
        ("S3_PREFIX", "/lodge", "s3.prefix must neither begin nor end with a slash"),
        ("S3_ACCESS_KEY_ID", "", "s3.access_key_id and s3.secret_access_key_file must be set"),
        (
            "S3_SECRET_ACCESS_KEY_FILE",
            "",
            "s3.access_key_id and s3.secret_access_key_file must be set",
        ),
        ("S3_SECRET_ACCESS_KEY_FILE", "/missing", "s3.secret_access_key_file"),
        ("S3_CA_FILE", "/missing", "s3.ca_file requires an https URL"),
    ] {
        let ran = with_bucket(&[(&format!("LODGE_{setting}"), value)]).run(&FREE);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(ran.code != 0 && said.contains(words), "{setting} = {value:?}: {ran:?}");
        assert!(!said.contains("hidden"), "{ran:?}");
    }
}

#[test]
fn a_bucket_on_another_machine_without_tls_is_reported() {
    let note = "note  s3.endpoint is an http URL: connections to other machines";
    for (endpoint, is_plain) in [
        ("http://127.0.0.1:1/path", false),
        ("http://[::1]:1", false),
        ("http://localhost:1", false),
        ("https://127.0.0.1:1", false),
        ("http://192.0.2.1", true),
        ("HTTP://192.0.2.1", true),
    ] {
        let ran = with_bucket(&[("LODGE_S3_ENDPOINT", endpoint)]).run(&FREE);
        assert_eq!(ran.out.contains(note), is_plain, "{endpoint}: {ran:?}");
    }
}

/// Asserts that the check fails, and that its BAD lines contain these words.
fn is_bad(lodge: &Lodge, words: &[&str]) {
    let ran = lodge.run(&FREE);
    let lines: Vec<_> = ran.out.lines().filter(|line| line.starts_with("BAD   ")).collect();
    let said = lines.join("\n");
    assert!(ran.code == 1 && words.iter().all(|word| said.contains(word)), "{words:?}: {ran:?}");
}

#[test]
fn a_check_reports_why_the_accounts_tier_refuses_a_web_process() {
    let (tiers, accounts, _web) = Tiers::new().start();
    let web = tiers.another_web();
    let key = web.write("key", [8; 32]);
    let web = web.with("LODGE_ACCOUNTS_KEY_FILE", text(&key));
    is_bad(&web, &["accounts.servers: 127.0.0.1:", "wrong key"]);
    fs::write(&key, [7; 31]).unwrap();
    is_bad(&web, &["accounts.key_file", "shorter than 32"]);
    accounts.stop();
    is_bad(&tiers.another_web(), &["accounts.servers", "refused"]);
}

#[test]
fn a_check_reports_certificates_that_do_not_match() {
    let ((_folder, ours), (_other_folder, other)) = (authority(), authority());
    let (tiers, _accounts, _web) = Tiers::new().and(&tls(&ours)).start();
    let theirs = tls(&other);
    is_bad(
        &with(tiers.another_web(), &theirs[1..2]),
        &["accounts.servers", "invalid peer certificate"],
    );
    is_bad(&with(tiers.another_web(), &theirs[2..]), &["accounts.servers", "received fatal alert"]);
    is_bad(&with(tiers.another_web(), &theirs[2..3]), &["accounts.tls", "key"]);
    is_bad(&with(tiers.accounts, &theirs[2..3]), &["accounts.tls", "key"]);
}

#[test]
fn a_check_reports_an_expired_certificate() {
    let (folder, ours) = authority();
    let (tiers, _accounts, _web) = Tiers::new().and(&tls(&ours)).start();
    let both = folder.path().join("both.pem");
    fs::write(&both, fs::read_to_string(ours.root()).unwrap() + include_str!("ended.pem")).unwrap();
    is_bad(
        &tiers.another_web().with("LODGE_ACCOUNTS_CA_FILE", text(&both)),
        &["accounts.ca_file", "expired on 2001-01-01"],
    );
}

#[test]
fn a_check_reports_a_machine_without_root_certificates() {
    let lodge = Lodge::new();
    let (key, none) = (lodge.write("key", [7; 32]), lodge.write("none.pem", ""));
    let pictures = lodge.file("pictures");
    let lodge = lodge
        .with("LODGE_ROLES", "web")
        .with("LODGE_ACCOUNTS_SERVERS", "127.0.0.1:1")
        .with("LODGE_ACCOUNTS_KEY_FILE", text(&key))
        .with("LODGE_ACCOUNTS_TLS", "true")
        .with("LODGE_ACCOUNTS_PICTURES", text(&pictures))
        .with("SSL_CERT_FILE", text(&none));
    is_bad(&lodge, &["without accounts.ca_file", "no root"]);
    let ran = lodge.run(&["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"]);
    assert!(ran.code != 0 && ran.err.contains("no root certificates"), "{ran:?}");
}
