//! A server that cannot start reports the reason, with an exit code for each kind.

use std::{fs::DirBuilder, os::unix::fs::DirBuilderExt, path::Path};

use crate::{CommandOutput, Lodge, text};

const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];

/// Creates a folder that is inaccessible to other users.
fn make_private(folder: &Path) {
    DirBuilder::new().mode(0o700).create(folder).unwrap();
}

fn refused(ran: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "no {word:?} in {}", ran.err);
    }
    assert!(!ran.err.contains("panicked") && !ran.err.contains("stack backtrace"), "{}", ran.err);
}

#[test]
fn a_second_process_on_the_same_folder_says_so_and_exits_2() {
    let (lodge, server) = Lodge::new().started();
    let folder = lodge.data();
    refused(&lodge.run(&SERVE), 2, &["in use by another process", text(&folder)]);
    assert_eq!(server.get("/").status, 200, "the first process is unaffected");
    let file = lodge.file("copy.db");
    lodge.admin(&["backup", text(&file)]);
    refused(&lodge.run(&["admin", "restore", text(&file)]), 2, &["in use"]);
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest_known_one() {
    for (variable, words) in [
        ("LODGE_HTP_LISTEN", ["LODGE_HTP_LISTEN", "LODGE_HTTP_LISTEN"]),
        ("LODGE_LINKS_RESERVED_DAY", ["LODGE_LINKS_RESERVED_DAY", "LODGE_LINKS_RESERVED_DAYS"]),
    ] {
        let lodge = Lodge::new().with(variable, "1");
        for command in [&SERVE[..], &["check"], &["admin", "key", "list"]] {
            refused(&lodge.run(command), 78, &words);
        }
        assert!(!lodge.data().exists(), "the data folder is not created");
    }
    let lodge = Lodge::new();
    for (toml, words) in [
        ("[http]\nlistn = \"x\"", &["http.listn", "http.listen"][..]),
        ("[link]\nmode = \"claim\"", &["link.mode", "links.mode"]),
        ("dta = \"x\"", &["dta", "data"]),
        ("[http]\nlisten = \"nowhere\"", &["http.listen: must be", ":8080", "\"nowhere\""]),
        ("[links]\nmode = \"newest\"", &["newest", "claim"]),
        ("apps = [\"chess\"]", &["chess", "links"]),
        ("apps = []", &["apps"]),
        ("[http]\nconnections_max = 0", &["http.connections_max", "at least 1"]),
        ("public_url = \"go.example\"", &["public_url", "https://go.example.org"]),
        ("[log]\nfilter = \"a=b=c\"", &["log.filter"]),
        ("this is not TOML", &["is not valid TOML"]),
    ] {
        lodge.write("lodge.toml", toml);
        refused(&lodge.run(&SERVE), 78, words);
    }
    std::fs::remove_file(lodge.file("lodge.toml")).unwrap();
    let missing = ["serve", "--config", "missing.toml"];
    refused(&lodge.run(&missing), 78, &["missing.toml", "cannot read"]);
    refused(
        &Lodge::new().with("LODGE_HTTP_CONNECTIONS_MAX", "many").run(&SERVE),
        78,
        &["LODGE_HTTP_CONNECTIONS_MAX"],
    );
}

#[test]
fn the_command_line_overrides_the_environment_which_overrides_the_file() {
    let lodge = Lodge::new().with("LODGE_LINKS_MODE", "replace").with("LODGE_DATA", "elsewhere");
    let toml = "data = \"nowhere\"\n[links]\nmode = \"claim\"\nreserved_days = 0\n";
    lodge.write("lodge.toml", toml);
    let server = lodge.start();
    server.put("/?short=gg&long=example.org").expect(201);
    server.put("/?short=gg&long=example.com").expect(201);
    assert_eq!(server.links_stored(), 1, "in the data folder of the command line");
    assert!(!lodge.file("elsewhere").exists() && !lodge.file("nowhere").exists());
}

#[test]
fn a_database_of_a_newer_lodge_is_refused_and_unchanged() {
    let lodge = Lodge::new();
    lodge.start().stop();
    lodge.database().pragma_update(None, "user_version", 9999).unwrap();
    let words = ["written by a newer Lodge", "9999", "lodge.db"];
    refused(&lodge.run(&SERVE), 1, &words);
    refused(&lodge.run(&["admin", "key", "list"]), 1, &words);
    let checked = lodge.run(&["check"]);
    assert_eq!(checked.code, 1);
    assert!(checked.out.contains("BAD   data folder") && checked.out.contains(words[0]));
    let version: i64 =
        lodge.database().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 9999);
}

#[test]
fn a_database_that_is_not_lodges_is_refused_and_unchanged() {
    let lodge = Lodge::new();
    make_private(&lodge.data());
    lodge
        .database()
        .execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (5)")
        .unwrap();
    refused(&lodge.run(&SERVE), 1, &["not a Lodge database"]);
    let theirs: i64 = lodge.query("SELECT a FROM theirs");
    assert_eq!(theirs, 5);
    let lodge = Lodge::new();
    make_private(&lodge.data());
    std::fs::write(lodge.data().join("lodge.db"), "this is no database at all".repeat(100))
        .unwrap();
    refused(&lodge.run(&SERVE), 1, &["not a Lodge database"]);
}

#[test]
fn a_listen_address_in_use_is_reported() {
    let lodge = Lodge::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = lodge.run(&["serve", "--listen", &address, "--ops-listen", "127.0.0.1:0"]);
    let words = ["another process uses this port", "another port with --listen or http.listen"];
    refused(&ran, 1, &[&format!("cannot listen on {address}"), words[0], words[1]]);
    // By its short form.
    let local = address.replace("127.0.0.1", "localhost");
    refused(&lodge.with("LODGE_OPS_LISTEN", &local).run(&SERVE[..3]), 1, &["with --ops-listen"]);
}

#[test]
fn the_data_folder_backups_and_exports_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let lodge = Lodge::new();
    let _server = lodge.start();
    let (backup, export) = (lodge.file("backup.db"), lodge.file("links.csv"));
    lodge.admin(&["backup", text(&backup)]);
    lodge.admin(&["export", text(&export)]);
    let mode = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&lodge.data()), 0o700);
    for name in ["lodge.db", "lodge.sock", "lodge.lock"] {
        assert_eq!(mode(&lodge.data().join(name)), 0o600, "{name}");
    }
    assert_eq!((mode(&backup), mode(&export)), (0o600, 0o600));
}
