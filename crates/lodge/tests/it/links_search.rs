//! Searches for links do not hold up other requests.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Lodge, Server, each};

/// How long a list, or a search until it is answered or refused, may take on a slow machine.
const IN_TIME: Duration = Duration::from_secs(4);

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
    let (lodge, server) = Lodge::new().started();
    let (attacker, other) = (lodge.key("attacker"), lodge.key("other"));
    create_look_alikes(&server, &attacker);
    let word = "x".repeat(250);
    let only = json!({ "target": format!("https://example.org/{word}"), "short": "only" });
    server.post("/api/links").bearer(&attacker).json(only).expect(201);
    let began = Instant::now();
    let search = format!("/api/links?search={word}");
    let mut searching = server.send_raw(&server.ask("GET", &search).bearer(&attacker).bytes());
    let listed = server.ask("GET", "/api/links").bearer(&other).expect(200).json();
    assert_eq!(listed["links"], json!([]));
    let list_took = began.elapsed();
    let answer = searching.read().unwrap();
    let search_took = began.elapsed();
    match answer.status {
        200 => assert_eq!(each(&answer.json()["links"], "short"), ["only"]),
        status => assert_eq!(status, 503),
    }
    assert!(list_took < IN_TIME && search_took < IN_TIME, "{list_took:?} {search_took:?}");
}
