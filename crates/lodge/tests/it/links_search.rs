//! Searches for links do not hold up other requests.

use serde_json::{Value, json};

use crate::{Lodge, Server, each};

/// Creates 20,000 links that nearly contain 250 times `x`.
fn create_look_alikes(server: &Server, key: &str) {
    let run = "x".repeat(249);
    for bulk in 0..20 {
        let link = |number| json!({ "target": format!("https://example.org/{run}/{number}") });
        let links: Vec<Value> = (bulk * 1_000..(bulk + 1) * 1_000).map(link).collect();
        server.post("/api/bulk/links").bearer(key).json(json!({ "links": links })).expect(200);
    }
}

#[test]
fn a_search_among_look_alikes_ends_soon_and_delays_no_list() {
    // Without a limit of its own, the search takes longer than a request may, and so does the list that waits for it.
    let (lodge, server) = Lodge::new().with("LODGE_HTTP_REQUEST_TIMEOUT_S", "2").started();
    let (attacker, other) = (lodge.key("attacker"), lodge.key("other"));
    create_look_alikes(&server, &attacker);
    let word = "x".repeat(250);
    let only = json!({ "target": format!("https://example.org/{word}"), "short": "only" });
    server.post("/api/links").bearer(&attacker).json(only).expect(201);
    let search = format!("/api/links?search={word}");
    let mut searching = server.send_raw(&server.ask("GET", &search).bearer(&attacker).bytes());
    let listed = server.ask("GET", "/api/links").bearer(&other).expect(200).json();
    assert_eq!(listed["links"], json!([]));
    let found = searching.read().unwrap().expect(200).json();
    assert_eq!(each(&found["links"], "short"), ["only"]);
}
