//! Seeded accounts for load tests, and load on them.

use std::{collections::HashSet, fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{CommandOutput, Lodge, PASSWORD, text};

/// Numbers of seeded accounts and sessions.
const USERS: &str = "300";
const SESSIONS: usize = 20;

/// An installation with the accounts app only.
fn accounts() -> Lodge {
    Lodge::new().with("LODGE_APPS", "accounts")
}

/// Seeds the data folder, and writes the tokens to the file `tokens`.
fn seed(lodge: &Lodge, tokens: &str) -> CommandOutput {
    let (data, tokens, sessions) = (lodge.data(), lodge.file(tokens), SESSIONS.to_string());
    let files = ["load", "accounts-seed", "--data", text(&data), "--tokens", text(&tokens)];
    lodge.run(&[&files[..], &["--users", USERS, "--sessions", &sessions]].concat())
}

#[test]
fn seeding_is_repeatable_and_the_token_file_is_private() {
    let lodge = accounts();
    seed(&lodge, "tokens").prints("300 accounts, 300 of them new");
    let file = lodge.file("tokens");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let tokens = fs::read_to_string(&file).unwrap();
    let again = seed(&lodge, "tokens");
    assert!(again.code == 1 && fs::read_to_string(&file).unwrap() == tokens, "{again:?}");
    seed(&lodge, "more").prints("300 accounts, 0 of them new");

    let server = lodge.start();
    let name = |token: &str| {
        let me = server.ask("GET", "/api/me").bearer(token).expect(200);
        me.json()["username"].as_str().unwrap().to_owned()
    };
    let names: HashSet<String> = tokens.lines().map(name).collect();
    assert_eq!(names.len(), SESSIONS, "each session belongs to another account");
    let credentials =
        json!({ "username": names.iter().next(), "password": lodge_load::SEED_PASSWORD });
    server.post("/api/session").json(&credentials).expect(200);
}

#[test]
fn a_folder_with_real_accounts_is_not_seeded() {
    let (lodge, server) = accounts().started();
    server.make_account("ada");
    server.stop();
    seed(&lodge, "tokens").fails("not seeded before");
    assert!(!lodge.file("tokens").exists());
    let server = lodge.start();
    assert_eq!(server.sign_in("bababababa", lodge_load::SEED_PASSWORD).status, 401);
    assert_eq!(server.sign_in("ada", PASSWORD).status, 200);
}

#[test]
fn load_on_seeded_accounts_has_no_errors() {
    let lodge = accounts();
    assert_eq!(seed(&lodge, "tokens").code, 0);
    let server = lodge.start();
    let (tokens, json) = (lodge.file("tokens"), lodge.file("report.json"));
    let url = format!("http://{}", server.address);
    let get: &[&str] = &["accounts-get", "--tokens", text(&tokens)];
    let commands: [(&[&str], &str); 4] = [
        (get, "400"),
        (&[get, &["--sessions", "3", "--rate", "2000"]].concat(), "400"),
        (&[get, &["--zipf", "1", "--users", USERS]].concat(), "400"),
        (&["accounts-sign-in", "--users", USERS, "--connections", "2"], "5"),
    ];
    for (command, requests) in commands {
        let common = ["--url", &url, "--requests", requests, "--json", text(&json)];
        let ran = lodge.run(&[&["load"], command, &common].concat());
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        let all = &report["total"]["all"];
        assert_eq!(all["succeeded"].to_string(), requests, "{command:?}: {ran:?}");
        assert_eq!(all["errors"], 0, "{command:?}: {ran:?}");
    }
    assert!(server.metric("lodge_accounts_cache_hit_seconds_count") > 0.0);
}
