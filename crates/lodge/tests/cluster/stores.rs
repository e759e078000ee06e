//! Each app on its own store.

use lodge_testbed::Cluster;
use serde_json::{Value, json};

use crate::{
    keyspace::Keyspace,
    server::{Lodge, Server, text},
    testbed::{cluster, fresh, process_on},
};

const PASSWORD: &str = "correct horse battery";

/// Returns a process with these apps, whose links are in this keyspace of the cluster.
fn with_apps(cluster: &Cluster, keyspace: &Keyspace, apps: &str) -> Lodge {
    process_on(cluster).with("LODGE_CASSANDRA_KEYSPACE", keyspace.name()).with("LODGE_APPS", apps)
}

/// Creates an account and signs in to it. Returns the session token.
fn signed_up(server: &Server, name: &str) -> String {
    let account = json!({ "username": name, "password": PASSWORD });
    server.post("/api/accounts").json(&account).expect(201);
    let session = server.post("/api/session").json(&account).expect(200).json();
    session["token"].as_str().unwrap().to_owned()
}

fn get(server: &Server, path: &str, token: &str) -> Value {
    server.ask("GET", path).bearer(token).expect(200).json()
}

/// Creates a link that the account owns.
fn make_link(server: &Server, short: &str, token: &str) {
    let link = json!({ "target": "example.org", "short": short });
    server.post("/api/links").bearer(token).json(&link).expect(201);
}

#[test]
fn links_on_cassandra_stand_beside_accounts_rides_and_the_board_on_sqlite() {
    let (cluster, keyspace) = (cluster(), Keyspace::new());
    let lodge = with_apps(&cluster, &keyspace, "links,accounts,rides,board");
    let server = lodge.start();
    let (short, name) = (fresh("all"), "ada");
    let token = signed_up(&server, name);
    make_link(&server, &short, &token);
    server.ride([3, 2025, 9, 77], 217, 21);
    let message = json!({ "client_id": fresh("message"), "body": "first tracks" });
    server.post("/api/board/lobby/messages").bearer(&token).json(&message).expect(201);

    // Acknowledged writes survive a kill, each in its own store.
    server.kill();
    let server = lodge.start();
    let elsewhere = with_apps(&cluster, &keyspace, "links").start();
    assert_eq!(elsewhere.get(&format!("/{short}")).location(), Some("https://example.org/"));
    assert_eq!(get(&server, "/api/me", &token)["username"], name);
    assert_eq!(get(&server, "/api/links", &token)["links"][0]["short"], short.as_str());
    assert_eq!(server.get("/skiers/3/seasons/2025/days/9/skiers/77").text().trim(), "210");
    let events = get(&server, "/api/board/lobby/events", &token);
    assert_eq!(events["events"][0]["body"], "first tracks");
    let unowned = server.create(&json!({ "target": "example.org" }));
    server.manage(&unowned, "GET").expect(200);
    server.ops("/health/ready").expect(200);
    let said = lodge.admin(&["backup", text(&lodge.file("backup.db"))]);
    assert!(said.contains("does not contain the data in Cassandra"), "{said}");
    assert_eq!(server.stop(), Some(0));

    // A new secret in both stores ends manage keys. The accounts stay those of these links.
    let said = lodge.admin(&["secret", "replace", "--yes"]);
    assert_eq!(said, "a new secret is stored in SQLite and Cassandra; restart every process\n");
    let server = lodge.start();
    server.manage(&unowned, "GET").expect(403);
    assert_eq!(get(&server, "/api/links", &token)["links"][0]["short"], short.as_str());
    assert_eq!(server.stop(), Some(0));

    // Accounts of another data folder have the same numbers, and would own the same links.
    let other = with_apps(&cluster, &keyspace, "links,accounts").run(&["serve"]);
    assert_ne!(other.code, 0);
    assert!(other.err.contains("belong to accounts in another store"), "{other:?}");
}

#[test]
fn the_web_tier_of_a_cluster_uses_a_separate_accounts_process() {
    let (cluster, keyspace) = (cluster(), Keyspace::new());
    let accounts = with_apps(&cluster, &keyspace, "links,accounts").with("LODGE_ROLES", "accounts");
    let key = accounts.write("key", [7; 32]);
    let pictures = accounts.file("pictures");
    let shared = |lodge: Lodge| {
        lodge
            .with("LODGE_ACCOUNTS_KEY_FILE", text(&key))
            .with("LODGE_ACCOUNTS_PICTURES", text(&pictures))
    };
    let backend = shared(accounts).with("LODGE_ACCOUNTS_LISTEN", "127.0.0.1:0");
    let backend = backend.start();
    let servers = backend.wire.unwrap().to_string();
    let web = || {
        let web =
            shared(with_apps(&cluster, &keyspace, "links,accounts")).with("LODGE_ROLES", "web");
        web.with("LODGE_ACCOUNTS_SERVERS", &servers)
    };
    let (one, other) = (web(), web());
    let (one, other) = (one.start(), other.start());
    let token = signed_up(&one, "grace");
    let short = fresh("tier");
    make_link(&one, &short, &token);
    assert_eq!(get(&other, "/api/me", &token)["username"], "grace");
    assert_eq!(get(&other, "/api/links", &token)["links"][0]["short"], short.as_str());
    assert_eq!(other.get(&format!("/{short}")).location(), Some("https://example.org/"));
}
