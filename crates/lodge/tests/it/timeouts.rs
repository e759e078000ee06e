//! Slow clients are disconnected, and do not affect the others.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{DEADLINE, HttpConnection, Lodge, Request, Server, eventually_true, text};

/// The pause between two writes of a slow client.
const BETWEEN_DROPS: Duration = Duration::from_millis(50);

/// Writes `drop` again and again until the server closes the connection. Returns how long that took.
fn drip_until_cut_off(mut stream: &TcpStream, drop: &[u8]) -> Duration {
    let began = Instant::now();
    stream.set_read_timeout(Some(BETWEEN_DROPS)).unwrap();
    loop {
        assert!(began.elapsed() < DEADLINE, "the connection is still open");
        match stream.read(&mut [0; 1024]) {
            Ok(0) => return began.elapsed(),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                // The next read reports a failed write.
                let _ = stream.write(drop);
            }
            Err(_) => return began.elapsed(),
        }
    }
}

#[test]
fn a_request_head_that_does_not_end_is_cut_off() {
    let server = Lodge::new().with("LODGE_HTTP_HEADER_TIMEOUT_S", "1").start();
    for (start, drop) in [("GET /gg HTTP/1.1\r\nHost: x\r\nX-Slow: ", "a"), ("", "")] {
        let wire = server.send_raw(start.as_bytes());
        let lasted = drip_until_cut_off(wire.stream(), drop.as_bytes());
        assert!(lasted > Duration::from_millis(700), "{lasted:?}");
        assert!(lasted < Duration::from_secs(8), "{lasted:?}");
    }
}

#[test]
fn a_connection_that_idles_after_its_answer_is_cut_off() {
    let server = Lodge::new().with("LODGE_HTTP_HEADER_TIMEOUT_S", "1").start();
    let mut wire = HttpConnection::connect(server.address).unwrap();
    assert_eq!(Request::new(server.address, "GET", "/unknown").on(&mut wire).unwrap().status, 404);
    let lasted = drip_until_cut_off(wire.stream(), b"");
    assert!(lasted < Duration::from_secs(8), "{lasted:?}");
}

#[test]
fn a_body_that_does_not_end_times_out() {
    let server = Lodge::new().with("LODGE_HTTP_REQUEST_TIMEOUT_S", "1").start();
    let mut wire =
        server.send_raw(b"POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{");
    wire.read().unwrap().expect(408);
    drip_until_cut_off(wire.stream(), b" ");
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn an_answer_before_the_end_of_the_body_announces_that_the_connection_closes() {
    let server = Lodge::new().start();
    let head = "POST /api/unknown HTTP/1.1\r\nHost: x\r\nContent-Length:";
    for (head_end, body) in [("1000\r\n", "{"), ("2\r\nExpect: 100-continue\r\n", "")] {
        let mut wire = server.send_raw(format!("{head} {head_end}\r\n{body}").as_bytes());
        let answer = wire.read().unwrap();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (404, Some("close")),
            "{head_end}"
        );
    }
}

#[test]
fn a_connection_stays_open_after_a_short_body_that_no_handler_reads() {
    let server = Lodge::new().start();
    let head = "POST /api/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";
    let mut wire = server.send_raw(head.as_bytes());
    // The body comes in a packet of its own.
    wire.write(b"{}").unwrap();
    for _ in 0..2 {
        let answer = wire.read().unwrap();
        assert_eq!((answer.status, answer.header("connection")), (404, None));
        wire.write(format!("{head}{{}}").as_bytes()).unwrap();
    }
}

#[test]
fn a_long_body_has_a_longer_timeout() {
    let lodge =
        Lodge::new().with("LODGE_HTTP_REQUEST_TIMEOUT_S", "2").with("LODGE_APPS", "accounts");
    let (server, [token]) = lodge.start_with(["ada"]);
    let mut wire = HttpConnection::connect(server.address).unwrap();
    let head = format!(
        "PUT /api/me/picture HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n",
        2 * 64 * 1024
    );
    let began = Instant::now();
    wire.write(head.as_bytes()).unwrap();
    wire.read().unwrap().expect(408);
    assert!(began.elapsed() > Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn concurrent_uploads_are_limited_per_address() {
    let lodge =
        Lodge::new().with("LODGE_APPS", "accounts").with("LODGE_HTTP_REQUEST_TIMEOUT_S", "4");
    let (server, [token]) = lodge.start_with(["ada"]);
    let begin = |address: &str| {
        let head = format!(
            "PUT /api/me/picture HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             X-Forwarded-For: {address}\r\nContent-Length: 1000\r\n\r\n"
        );
        server.send_raw(head.as_bytes())
    };
    let slow = [(); 3].map(|()| begin("192.0.2.1"));
    let other = server.put("/api/me/picture").bearer(&token).body(b"x").from("192.0.2.2").send();
    assert_eq!(other.status, 400, "another address's picture is decoded");
    let mut answers = slow.map(|mut wire| wire.read().unwrap());
    answers.sort_by_key(|answer| answer.status);
    assert_eq!(answers.each_ref().map(|answer| answer.status), [408, 408, 429]);
    assert_eq!(answers[2].header("retry-after"), Some("5"));
}

/// A list request whose response exceeds every socket buffer: a thousand links with targets of 8 KB.
fn large_list(lodge: &Lodge) -> Request {
    let rows = (0..1000).map(|row| format!("l{row},https://example.org/{}\n", "x".repeat(8000)));
    let file = lodge.write("large.csv", format!("short,target\n{}", rows.collect::<String>()));
    let key = lodge.key("me");
    lodge.admin(&["import", "--from", "lodge", "--key", "me", text(&file)]);
    Request::new(([127, 0, 0, 1], 1).into(), "GET", "/api/links?limit=1000").bearer(&key)
}

fn open_connections(server: &Server) -> f64 {
    server.metric("lodge_http_connections ")
}

#[test]
fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let (lodge, server) = Lodge::new().with("LODGE_HTTP_WRITE_TIMEOUT_S", "1").started();
    let list = large_list(&lodge);
    let readers: Vec<HttpConnection> = (0..5).map(|_| server.send_raw(&list.bytes())).collect();
    // The connection that reads the metrics counts too.
    eventually_true("the readers are served", || open_connections(&server) > 5.5);
    eventually_true("the readers are cut off", || open_connections(&server) < 1.5);
    for mut reader in readers {
        let whole = reader.read().is_ok_and(|answer| answer.body.len() > 8_000_000);
        assert!(!whole, "no response was cut off");
    }
    let mut wire = server.send_raw(&list.bytes());
    assert_eq!(wire.read().unwrap().json()["links"].as_array().unwrap().len(), 1000);
}

#[test]
fn a_client_that_pipelines_and_never_reads_is_cut_off() {
    let server = Lodge::new().with("LODGE_HTTP_WRITE_TIMEOUT_S", "1").start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let before = server.memory_bytes();
    let many = "GET /gg HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1000);
    let mut wire = HttpConnection::connect(server.address).unwrap();
    let began = Instant::now();
    while wire.write(many.as_bytes()).is_ok() {
        assert!(began.elapsed() < DEADLINE, "the connection is still open");
    }
    assert!(server.memory_bytes() < before + (64 << 20));
    assert_eq!(server.get("/gg").status, 307);
}
