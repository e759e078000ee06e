//! The live stream of a day's rides.

use serde_json::{Value, json};

use crate::{HttpConnection, Lodge, Response, Server, eventually_true};

fn listen(server: &Server) -> (HttpConnection, Response) {
    let (mut wire, head) = server.ask("GET", "/api/rides/live").begin();
    assert_eq!(wire.read_chunk().unwrap(), b"retry: 2000\n\n");
    (wire, head.expect(200))
}

fn next(wire: &mut HttpConnection) -> Value {
    loop {
        let chunk = String::from_utf8(wire.read_chunk().unwrap()).unwrap();
        assert!(!chunk.is_empty(), "the stream has ended");
        if let Some(data) = chunk.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

fn of(event: &Value, resort: u16) -> Value {
    let resorts = event["resorts"].as_array().unwrap();
    resorts.iter().find(|found| found["resortID"] == resort).unwrap().clone()
}

#[test]
fn a_live_stream_sends_the_current_state_and_then_changes() {
    let server = Lodge::new().start();
    server.ride([1, 2025, 3, 7], 1, 10);
    let (mut first, head) = listen(&server);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(head.header(name), Some(value), "{head:?}");
    }
    let event = next(&mut first);
    assert_eq!((&event["seasonID"], &event["dayID"]), (&json!("2025"), &json!(3)));
    assert_eq!((&event["rides"], &event["skiers"]), (&json!(1), &json!(1)));
    let one = json!({ "resortID": 1, "rides": 1, "skiers": 1, "vertical": 100 });
    assert_eq!((of(&event, 1), &of(&event, 2)["rides"]), (one, &json!(0)));

    let (mut second, _) = listen(&server);
    assert_eq!(next(&mut second), event, "a later listener gets the same state");
    server.ride([2, 2025, 3, 7], 1, 10);
    for wire in [&mut first, &mut second] {
        let event = next(wire);
        assert_eq!((&event["rides"], &of(&event, 2)["rides"]), (&json!(2), &json!(1)));
    }
    server.ride([1, 2025, 2, 7], 1, 10);
    server.ride([1, 2025, 4, 7], 1, 10);
    let event = next(&mut first);
    assert_eq!((&event["dayID"], &event["rides"]), (&json!(4), &json!(1)), "the newest day");
}

#[test]
fn a_live_stream_repeats_no_event() {
    let server = Lodge::new().with("LODGE_HTTP_HEADER_TIMEOUT_S", "1").start();
    server.ride([1, 2025, 3, 7], 1, 10);
    let (mut wire, _) = listen(&server);
    assert_eq!(next(&mut wire)["rides"], 1);
    // Stored, but of an older day: no event is sent.
    server.ride([1, 2025, 2, 7], 1, 10);
    three_seconds(&server);
    server.ride([1, 2025, 3, 8], 1, 10);
    assert_eq!(next(&mut wire)["rides"], 2);
}

/// Waits for the header timeout of three idle connections, one after another.
fn three_seconds(server: &Server) {
    for _ in 0..3 {
        let mut idle = HttpConnection::connect(server.address).unwrap();
        assert!(idle.read_to_end().unwrap().is_empty());
    }
}

#[test]
fn a_stop_ends_the_streams_and_does_not_wait_for_them() {
    let server = Lodge::new().with("LODGE_HTTP_SHUTDOWN_GRACE_S", "600").start();
    let mut wires = [listen(&server).0, listen(&server).0];
    assert_eq!(server.stop(), Some(0));
    for wire in &mut wires {
        assert!(wire.read_chunk().unwrap().is_empty(), "ended, not broken off");
        assert!(wire.read_to_end().unwrap().is_empty());
    }
}

#[test]
fn a_closed_live_stream_is_released() {
    let server = Lodge::new().start();
    let open = || server.metric("lodge_http_streams");
    let wires: Vec<_> = (0..20).map(|_| listen(&server)).collect();
    eventually_true("all streams are open", || (open() - 20.0).abs() < 0.5);
    drop(wires);
    eventually_true("all streams are closed", || open() < 0.5);
    server.ride([1, 2025, 1, 1], 1, 10);
    assert_eq!(next(&mut listen(&server).0)["rides"], 1, "new listeners are served");
}

#[test]
fn live_streams_are_limited_in_total_and_per_address() {
    let server = Lodge::new().with("LODGE_HTTP_CONNECTIONS_MAX", "100").start();
    let from = |address: &str| server.ask("GET", "/api/rides/live").from(address).begin();
    let listening = |address: &str, count| {
        let found: Vec<_> = (0..count).map(|_| from(address)).collect();
        assert!(found.iter().all(|(_, head)| head.status == 200), "{address}");
        found
    };
    let first = listening("198.51.100.1", 4);
    from("198.51.100.1").1.expect_retry_after(429);
    let _others = [listening("198.51.100.2", 4), listening("198.51.100.3", 2)];
    from("198.51.100.4").1.expect_retry_after(503);
    assert_eq!(server.get("/rides").status, 200, "nine in ten connections are left");
    drop(first);
    eventually_true("a new stream is admitted", || from("198.51.100.1").1.status == 200);
}

#[test]
fn request_timeouts_do_not_end_a_live_stream() {
    let lodge = Lodge::new()
        .with("LODGE_HTTP_REQUEST_TIMEOUT_S", "1")
        .with("LODGE_HTTP_HEADER_TIMEOUT_S", "1")
        .with("LODGE_HTTP_WRITE_TIMEOUT_S", "1");
    let server = lodge.start();
    let (mut wire, _) = listen(&server);
    three_seconds(&server);
    server.ride([1, 2025, 1, 1], 1, 10);
    assert_eq!(next(&mut wire)["rides"], 1);
}
