//! Backups of a running server, and their restore.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::json;

use crate::{Lodge, eventually_true, text};

/// A text that occurs nowhere else in the database.
const SHORT: &str = "kept-through-thick-and-thin";

#[test]
fn a_backup_during_writes_contains_everything_acknowledged_before() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "mine" }));
    let api_key = lodge.key("me");
    let owned = json!({ "target": "example.org", "short": "owned" });
    server.post("/api/links").bearer(&api_key).json(&owned).expect(201);

    let file = lodge.file("backup.db");
    let (written, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let before = thread::scope(|scope| {
        for writer in 0..4 {
            let (server, written, done) = (&server, &written, &done);
            scope.spawn(move || {
                for number in 0.. {
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                    let put = format!("/?short=w{writer}-{number}&long=example.org/{number}");
                    server.put(&put).expect(201);
                    written.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        eventually_true("writes continue", || written.load(Ordering::SeqCst) > 100);
        let before = written.load(Ordering::SeqCst);
        lodge.run(&["admin", "backup", text(&file)]).prints("backed up");
        eventually_true("writes continue", || written.load(Ordering::SeqCst) > before + 50);
        done.store(true, Ordering::SeqCst);
        before
    });
    assert_eq!(lodge.run(&["admin", "backup", text(&file)]).code, 1, "a backup overwrites no file");
    server.kill();

    let other = Lodge::new();
    let said = other.admin(&["restore", text(&file)]);
    assert!(!said.contains("is kept as"), "there was no database to keep: {said}");
    let server = other.start();
    let stored = server.links_stored();
    assert!(stored >= before + 2, "{stored} of {before}");
    assert!(stored < written.into_inner() + 2, "the backup has no later writes");
    assert_eq!(server.get("/w0-0").location(), Some("https://example.org/0"));
    let edit = server.manage(&link, "PATCH").json(json!({ "target": "example.com" }));
    assert_eq!(edit.send().status, 200, "manage keys are still valid");
    let list = server.ask("GET", "/api/links").bearer(&api_key).send().json();
    assert_eq!(list["links"][0]["short"], "owned", "API keys are still valid");
}

#[test]
fn a_restore_keeps_the_replaced_database_and_refuses_an_invalid_backup() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "example.org", "short": SHORT }));
    let file = lodge.file("backup.db");
    lodge.admin(&["backup", text(&file)]);
    server.create(&json!({ "target": "example.org", "short": "late" }));
    assert_eq!(server.stop(), Some(0));

    let nonsense = lodge.write("nonsense.db", "no database");
    for bad in [&nonsense, &lodge.file("missing.db")] {
        lodge.run(&["admin", "restore", text(bad)]).expect(1);
    }
    for damage in [differ, overwrite] {
        let mut damaged = std::fs::read(&file).unwrap();
        damage(&mut damaged);
        std::fs::write(&nonsense, damaged).unwrap();
        lodge.run(&["admin", "restore", text(&nonsense)]).expect(1);
    }
    let server = lodge.start();
    assert_eq!((server.get(&format!("/{SHORT}")).status, server.get("/late").status), (307, 307));
    server.stop();

    let said = lodge.admin(&["restore", text(&file)]);
    let kept = lodge.data().join("lodge.db.before-restore");
    assert!(said.contains(&format!("is kept as {}\n", text(&kept))), "{said}");
    assert!(kept.exists());
    let server = lodge.start();
    assert_eq!((server.get(&format!("/{SHORT}")).status, server.get("/late").status), (307, 404));
}

#[test]
fn a_failed_restore_reports_one_error_and_creates_no_folder() {
    let lodge = Lodge::new();
    let ran = lodge.run(&["admin", "restore", text(&lodge.file("missing.db"))]).expect(1);
    assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("missing.db") && !lodge.data().exists(), "{}", ran.err);
}

/// Changes one of the short's two occurrences, so that the table and its index differ.
fn differ(file: &mut [u8]) {
    let at = file.windows(SHORT.len()).rposition(|window| window == SHORT.as_bytes()).unwrap();
    file[at] = b'x';
}

/// Overwrites a whole page.
fn overwrite(file: &mut [u8]) {
    let page = file.len() / 4096 / 2 * 4096;
    file[page..page + 4096].fill(0x5a);
}

#[test]
fn administration_works_with_and_without_a_server() {
    let lodge = Lodge::new();
    lodge.run(&["admin", "key", "list"]).fails("there is no data folder");
    lodge.start().stop();
    let key = lodge.key("made without a server");
    let server = lodge.start();
    let other = lodge.key("made with a server");
    for key in [&key, &other] {
        server.ask("GET", "/api/links").bearer(key).expect(200);
    }
    let taken = lodge.run(&["admin", "key", "create", "made with a server"]).expect(1);
    assert!(!taken.err.contains("panicked"), "{}", taken.err);
    assert_eq!(lodge.run(&["admin", "key", "revoke", "unknown"]).code, 1);
    server.kill();
    // The killed server left its socket behind, which refuses connections.
    let listed = lodge.admin(&["key", "list"]);
    assert_eq!(listed.lines().count(), 3, "a heading and two keys: {listed}");
    assert!(!listed.contains(&key) && !listed.contains(&other), "a key's token is printed once");
}
