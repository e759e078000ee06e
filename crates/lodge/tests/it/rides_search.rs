//! The limits on concurrent searches.

use crate::{HttpConnection, Lodge, Server, eventually_true};

const SEARCH: &str = "/api/rides/search?by=skier";
const UNDER_WAY: &str = "lodge_http_streams{kind=\"search\"}";

/// Sends a search without reading the response.
fn begin(server: &Server, from: &str) -> HttpConnection {
    let ask = server.ask("GET", SEARCH).from(from);
    server.send_raw(&ask.bytes())
}

#[test]
fn concurrent_searches_are_limited_in_total_and_per_address() {
    let (lodge, server) = Lodge::new().started();
    server.ride([1, 2025, 1, 7], 1, 1);
    // A search by skiers first writes the pending sums, which the open transaction blocks.
    let other = lodge.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = |from: &str| {
        let answer = begin(&server, from).read_head().unwrap();
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        answer.status
    };
    let mut begun: Vec<HttpConnection> =
        ["198.51.100.1"; 2].map(|from| begin(&server, from)).into();
    eventually_true("two searches are running", || server.metric(UNDER_WAY) > 1.5);
    assert_eq!(refused("198.51.100.1"), 429, "an address may run two");
    for from in ["198.51.100.2", "198.51.100.3", "198.51.100.4"] {
        begun.push(begin(&server, from));
    }
    eventually_true("five searches are running", || server.metric(UNDER_WAY) > 4.5);
    assert_eq!(refused("198.51.100.5"), 503);
    other.execute_batch("COMMIT").unwrap();
    for mut search in begun {
        assert_eq!(search.read_head().unwrap().status, 200);
    }
    eventually_true("no search is running", || server.metric(UNDER_WAY) < 0.5);
}

#[test]
fn a_search_ends_when_its_client_leaves() {
    let (lodge, server) = Lodge::new().started();
    server.ride([1, 2025, 1, 7], 1, 1);
    let other = lodge.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = begin(&server, "198.51.100.1");
    eventually_true("a search is running", || server.metric(UNDER_WAY) > 0.5);
    drop(begun);
    eventually_true("no search is running", || server.metric(UNDER_WAY) < 0.5);
    other.execute_batch("COMMIT").unwrap();
}
