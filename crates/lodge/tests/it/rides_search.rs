//! Searches, of which some may be under way.

use crate::{Lodge, Server, Wire, eventually_true};

const SEARCH: &str = "/api/rides/search?by=skier";
const UNDER_WAY: &str = "lodge_http_streams{kind=\"search\"}";

/// Asks, and reads nothing yet.
fn begin(server: &Server, from: &str) -> Wire {
    let ask = server.ask("GET", SEARCH).from(from);
    server.send_raw(&ask.bytes())
}

#[test]
fn searches_have_their_places_and_no_address_takes_all() {
    let (lodge, server) = Lodge::new().started();
    server.ride([1, 2025, 1, 7], 1, 1);
    // A search by skiers has their newer sums written first, for which it waits now.
    let other = lodge.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = |from: &str| {
        let answer = begin(&server, from).read_head().unwrap();
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        answer.status
    };
    let mut begun: Vec<Wire> = ["198.51.100.1"; 2].map(|from| begin(&server, from)).into();
    eventually_true("two are under way", || server.metric(UNDER_WAY) > 1.5);
    assert_eq!(refused("198.51.100.1"), 429, "an address has two");
    for from in ["198.51.100.2", "198.51.100.3", "198.51.100.4"] {
        begun.push(begin(&server, from));
    }
    eventually_true("five are under way", || server.metric(UNDER_WAY) > 4.5);
    assert_eq!(refused("198.51.100.5"), 503);
    other.execute_batch("COMMIT").unwrap();
    for mut search in begun {
        assert_eq!(search.read_head().unwrap().status, 200);
    }
    eventually_true("all places are free", || server.metric(UNDER_WAY) < 0.5);
}
