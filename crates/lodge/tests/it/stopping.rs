//! A stop finishes running requests and accepts no new ones.

use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;

use crate::{HttpConnection, Lodge, Server, eventually_true};

/// Starts a request whose handler waits for the body.
fn half_a_creation(server: &Server, body: &str) -> HttpConnection {
    let head = format!(
        "POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let mut wire = server.send_raw(head.as_bytes());
    assert_eq!(wire.read_head().unwrap().status, 100, "the handler asks for the body");
    wire
}

#[test]
fn a_stop_finishes_running_requests_and_accepts_no_new_ones() {
    let (lodge, server) = Lodge::new().started();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let mut idle = HttpConnection::connect(server.address).unwrap();
    assert_eq!(server.ask("GET", "/gg").on(&mut idle).unwrap().status, 307);
    assert_eq!(server.ops("/health/ready").status, 200);
    let body = json!({ "target": "example.org", "short": "late" }).to_string();
    let mut running = half_a_creation(&server, &body);

    server.signal(Signal::TERM);
    eventually_true("the server is not ready", || server.ops("/health/ready").status == 503);
    assert_eq!(server.ops("/health/live").status, 200, "the process is still live");
    assert!(idle.read_to_end().unwrap().is_empty(), "idle connections are closed");
    eventually_true("new connections are refused", || TcpStream::connect(server.address).is_err());
    running.write(body.as_bytes()).unwrap();
    running.read().unwrap().expect(201);
    assert_eq!(server.wait(), Some(0));
    assert_eq!(lodge.start().get("/late").status, 307);
}

#[test]
fn a_stop_waits_no_longer_than_its_grace_time() {
    let server = Lodge::new().with("LODGE_HTTP_SHUTDOWN_GRACE_S", "1").start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
    let _running = half_a_creation(&server, "{\"target\": \"example.org\"}");
    let server = server.restart();
    let total = &server.clicks(&link, "day")["total"];
    assert_eq!(*total, 1, "clicks are stored anyway");
}

#[test]
fn a_second_signal_stops_at_once() {
    let server = Lodge::new().with("LODGE_HTTP_SHUTDOWN_GRACE_S", "600").start();
    let _running = half_a_creation(&server, "{\"target\": \"example.org\"}");
    server.signal(Signal::TERM);
    eventually_true("the server is not ready", || server.ops("/health/ready").status == 503);
    server.signal(Signal::INT);
    assert_eq!(server.wait(), Some(130), "documented in docs/operating.md");
}
