//! `lodge move` copies accounts to MariaDB once, even if it is interrupted.

use std::time::Duration;

use lodge_load::{SEED_PASSWORD, seeded_name};
use serde_json::json;

use crate::{
    accounts::{Database, PASSWORD, change, me, sign_in, sign_up},
    client::each,
    moving::RunningMove,
    server::{CommandOutput, Lodge, eventually_within, text},
};

/// The timeout of a move on a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// So many that a move takes several seconds.
const SEEDED: &str = "6000";

/// A folder with seeded accounts and sessions, and no server.
fn seeded() -> Lodge {
    let source = Lodge::new().with("LODGE_APPS", "links,accounts");
    let (data, tokens) = (source.data(), source.file("tokens"));
    let files = ["load", "accounts-seed", "--data", text(&data), "--tokens", text(&tokens)];
    source.run(&[&files[..], &["--users", SEEDED, "--sessions", "50"]].concat()).expect(0);
    source
}

/// Identities of two providers, a ticket and an outcome. The rows of the last accounts are removed because they were
/// deleted long ago; their ids are not used again.
const MORE: &str = "
    INSERT INTO identities VALUES ('https://a.example', 'x', 1, 5), ('https://a.example', 'y', 2, 5),
        ('https://b.example', 'a', 1, 5);
    INSERT INTO tickets (digest, issuer, subject, expires_at) VALUES (zeroblob(32), 'https://b.example', 'b', 9);
    INSERT INTO outcomes (attempt, fingerprint, at, outcome, app) VALUES (zeroblob(32), zeroblob(32), 1, '{}', 1);
    DELETE FROM accounts WHERE username = 'dave';
    UPDATE sqlite_sequence SET seq = seq + 100 WHERE name = 'accounts';";

fn change_first_email(source: &Lodge, email: &str) {
    let change = format!("UPDATE accounts SET email = {email} WHERE id = 1");
    assert_eq!(source.database().execute(&change, []).unwrap(), 1);
}

fn move_into(database: &Database, source: &Lodge) -> CommandOutput {
    let destination = database.process();
    destination.run_within(DEADLINE, &["move", "--from", text(&source.data())])
}

/// Starts a move, and kills it once so many accounts are copied.
fn kill_after(database: &Database, source: &Lodge, accounts: u64) {
    let under_way = RunningMove::start(&database.settings(), source);
    eventually_within(DEADLINE, "accounts are copied", || {
        database.count("accounts").filter(|copied| *copied >= accounts)
    });
    under_way.kill();
}

#[test]
fn a_move_brings_accounts_over_though_it_is_killed_twice() {
    let (database, source) = (Database::new(), seeded());
    let server = source.start();
    for name in ["ada", "bob", "carol", "dave"] {
        assert_eq!(sign_up(&server, name), 201);
    }
    source.admin(&["user", "role", "ada", "admin"]);
    let [ada, bob] = ["ada", "bob"].map(|name| sign_in(&server, name));
    let link = json!({ "target": "example.org", "short": "adas" });
    server.post("/api/links").bearer(&ada).json(&link).expect(201);
    assert_eq!(change(&server, &ada, "bob", "action=ban"), 303);
    assert_eq!(server.stop(), Some(0));
    source.database().execute_batch(MORE).unwrap();
    let last_id: u64 = source.query("SELECT seq FROM sqlite_sequence WHERE name = 'accounts'");

    kill_after(&database, &source, 500);
    database.process().run(&["serve"]).fails("is not finished");
    kill_after(&database, &source, 3_000);
    change_first_email(&source, "'else@example.org'");
    let changed = move_into(&database, &source).expect(1);
    assert!(changed.out.contains("NOT VERIFIED: 1 differences"), "{changed:?}");
    assert!(changed.err.contains("accounts: rows that differ: 1"), "{changed:?}");
    database.process().run(&["serve"]).fails("is not finished");
    change_first_email(&source, "NULL");
    for _ in 0..2 {
        let moved = move_into(&database, &source).expect(0).out;
        assert!(moved.starts_with("6003 accounts, 51 sessions, 3 identities, "), "{moved}");
        assert!(moved.contains(" s, verified\n"), "{moved}");
        assert!(moved.contains("set accounts.pictures"), "{moved}");
    }

    // Links stay in the folder, whose server has its accounts in MariaDB now.
    let source = database.with_accounts(source);
    let server = source.start();
    assert_eq!((me(&server, &ada), me(&server, &bob)), (200, 401));
    let links = server.ask("GET", "/api/links").bearer(&ada).expect(200).json();
    assert_eq!(each(&links["links"], "short"), ["adas"]);
    assert_eq!(me(&server, &sign_in(&server, "carol")), 200);
    let seeded = json!({ "username": seeded_name(7), "password": SEED_PASSWORD });
    server.post("/api/session").json(&seeded).expect(200);
    for (name, status) in [("CAROL", 409), ("erin", 201)] {
        assert_eq!(sign_up(&server, name), status, "{name}");
    }
    assert!(database.highest_account() > Some(last_id), "an id is used twice");
    let again = json!({ "username": "bob", "password": PASSWORD });
    assert_eq!(server.post("/api/session").json(&again).send().status, 403, "bob is banned");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn accounts_are_moved_only_into_a_database_without_others() {
    let (database, source) = (Database::new(), seeded());
    let server = database.process().start();
    assert_eq!(sign_up(&server, "ada"), 201);
    assert_eq!(server.stop(), Some(0));
    move_into(&database, &source).fails("belongs to another installation");
    assert_eq!(database.count("accounts"), Some(1));
}
