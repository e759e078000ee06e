//! Replacing the installation's secret.

use serde_json::json;

use crate::{Lodge, PASSWORD};

#[test]
fn a_replaced_secret_ends_what_the_old_one_signed_and_nothing_else() {
    let (lodge, server) = Lodge::new().started();
    let (token, key) = (server.member("ada"), lodge.key("me"));
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let of_7 = lodge.admin(&["pass", "7"]);
    let said = lodge.admin(&["secret", "replace", "--yes"]);
    assert_eq!(said, "a new secret is stored in SQLite; restart every process\n");
    server.manage(&link, "GET").expect(200);
    assert_eq!(server.stop(), Some(0));

    let server = lodge.start();
    server.manage(&link, "GET").expect(403);
    assert_ne!(lodge.admin(&["pass", "7"]), of_7);
    assert_eq!(server.get("/gg").location(), Some("https://example.org/"));
    server.ask("GET", "/api/me").bearer(&token).expect(200);
    server.ask("GET", "/api/links").bearer(&key).expect(200);
    let credentials = json!({ "username": "ada", "password": PASSWORD });
    server.post("/api/session").json(credentials).expect(200);
    let link = server.create(&json!({ "target": "example.org", "short": "hh" }));
    server.manage(&link, "GET").expect(200);
    let events = lodge.admin(&["events", "--kind", "operator_command"]);
    assert!(events.contains("secret replace in SQLite"), "{events}");
}

#[test]
fn the_secret_is_replaced_only_with_a_confirmation() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.stop(), Some(0));
    let refused = lodge.run(&["admin", "secret", "replace"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--yes"), "{refused:?}");
    lodge.start().manage(&link, "GET").expect(200);
}
