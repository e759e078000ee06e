//! `links.mode`: the first claim of a short stays, or the newest PUT wins.

use serde_json::json;

use crate::Lodge;

#[test]
fn in_replace_mode_only_the_newest_put_changes_a_link() {
    let (lodge, server) = Lodge::new().with("LODGE_LINKS_MODE", "replace").started();
    let put = |long: &str| server.put(&format!("/?short=gg&long={long}")).send().status;
    for number in 0..20 {
        assert_eq!(put(&format!("example.org/{number}")), 201);
        let location = format!("https://example.org/{number}");
        assert_eq!(server.get("/gg").location(), Some(location.as_str()));
    }
    assert_eq!(put("example.org/19"), 200, "the same link exists");
    let key = lodge.key("owner");
    for (method, body) in [("PATCH", "{\"target\":\"evil.example\"}"), ("DELETE", "")] {
        let ask = server.ask(method, "/api/links/gg").bearer(&key);
        let ask = if body.is_empty() { ask } else { ask.body(body) };
        ask.expect(403);
    }
    let server = server.restart_after_kill();
    assert_eq!(server.get("/gg").location(), Some("https://example.org/19"));
}

#[test]
fn in_replace_mode_links_have_no_owner() {
    let (lodge, server) = Lodge::new().with("LODGE_LINKS_MODE", "replace").started();
    let owner = lodge.key("owner");
    let wanted = json!({ "target": "example.org" });
    let link = server.post("/api/links").bearer(&owner).json(&wanted).send().json();
    assert_eq!(link.get("manage_key"), None, "a manage key would have no effect");
    let path = format!("/api/links/{}", link["short"].as_str().unwrap());
    let edit = json!({ "target": "evil.example" });
    for key in [owner.as_str(), "manage_x"] {
        server.patch(&path).bearer(key).json(&edit).expect(403);
        server.delete(&path).bearer(key).expect(403);
    }
    let short = link["short"].as_str().unwrap();
    server.put(&format!("/?short={short}&long=example.com")).expect(201);
    assert_eq!(server.get(&format!("/{short}")).location(), Some("https://example.com/"));
}

#[test]
fn in_replace_mode_a_link_created_on_the_page_has_no_owner() {
    let server = Lodge::new().with("LODGE_LINKS_MODE", "replace").start();
    let made = server.post("/links").browser().form("target=example.org&short=gg").send();
    assert_eq!((made.status, made.location()), (303, Some("/gg+")));
    assert_eq!(made.header("set-cookie"), None);
    let seen = server.ask("GET", "/gg+").browser().send();
    assert!(seen.status == 200 && !seen.text().contains("Manage it"), "{}", seen.text());
    let own = server.ask("GET", "/links/gg").browser().send();
    assert!(own.status == 200 && !own.text().contains("<code>manage_"), "{}", own.text());
}

#[test]
fn a_folder_with_owned_links_is_not_served_in_replace_mode() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    server.kill();
    let lodge = lodge.with("LODGE_LINKS_MODE", "replace");
    let refused = lodge.run(&["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("links.mode differs from the mode"), "{}", refused.err);
    assert_eq!(lodge.with("LODGE_LINKS_MODE", "claim").start().get("/gg").status, 307);
}

#[test]
fn in_claim_mode_a_put_never_overwrites_a_link() {
    let (lodge, server) = Lodge::new().started();
    let (mine, theirs) = (lodge.key("me"), lodge.key("they"));
    let put = |key: &str, long: &str| {
        server.put(&format!("/?short=gg&long={long}")).bearer(key).send().status
    };
    assert_eq!(put(&mine, "example.org"), 201);
    assert_eq!(put(&theirs, "evil.example"), 409);
    assert_eq!(put(&mine, "example.com"), 409, "not even its owner: PUT claims, PATCH changes");
    let wanted = json!({ "target": "evil.example", "short": "gg" });
    server.post("/api/links").bearer(&theirs).json(&wanted).expect(409);
    assert_eq!(server.get("/gg").location(), Some("https://example.org/"));
}

#[test]
fn without_anonymous_creation_only_keys_create() {
    let (lodge, server) = Lodge::new().with("LODGE_LINKS_ANONYMOUS_CREATION", "false").started();
    let key = lodge.key("me");
    let link = json!({ "target": "example.org" });
    server.put("/?short=gg&long=example.org").expect(401);
    server.post("/api/links").json(&link).expect(401);
    let bulk = json!({ "links": [link] });
    server.post("/api/bulk/links").json(&bulk).expect(401);
    server.post("/links").form("target=example.org").expect(401);
    let forged = server.post("/api/links").bearer("manage_x").json(&link).send();
    assert_eq!(forged.status, 401, "a manage key creates nothing");
    assert_eq!(server.links_stored(), 0);
    server.post("/api/links").bearer(&key).json(&link).expect(201);
}
