//! One address cannot take all connections.

use std::time::{Duration, Instant};

use crate::{HttpConnection, Lodge, Request, Server, eventually_true};

/// The clients of these tests have loopback addresses, so only this one is a trusted proxy.
const PROXY: &str = "127.0.0.9";

fn lodge() -> Lodge {
    Lodge::new().with("LODGE_HTTP_TRUSTED_PROXIES", PROXY).with("LODGE_APPS", "links")
}

/// Opens connections that send nothing.
fn silent(server: &Server, source: &str, count: usize) -> Vec<HttpConnection> {
    (0..count).map(|_| HttpConnection::connect_from(source, server.address)).collect()
}

fn unknown(server: &Server) -> Request {
    server.ask("GET", "/unknown")
}

fn refused(server: &Server) -> f64 {
    server.metric("lodge_http_connections_per_address_refused_total ")
}

#[test]
fn silent_connections_of_one_address_leave_half_of_the_places_to_others() {
    let server = lodge().with("LODGE_HTTP_CONNECTIONS_MAX", "40").start();
    let mut open = silent(&server, "127.0.0.2", 40);
    for wire in &mut open[20..] {
        assert_eq!(wire.read().unwrap().expect_retry_after(503), 1);
        assert_eq!(wire.read_to_end().unwrap(), b"", "closed");
    }
    assert!((19.5..20.5).contains(&refused(&server)), "{}", refused(&server));
    assert_eq!(unknown(&server).send_from("127.0.0.3").status, 404);
    for wire in &mut open[..20] {
        assert_eq!(unknown(&server).on(wire).unwrap().status, 404, "admitted ones are served");
    }
}

#[test]
fn an_address_gets_its_places_back_when_its_connections_end() {
    let server = lodge().with("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "3").start();
    let open = silent(&server, "127.0.0.2", 3);
    let began = Instant::now();
    let mut fourth = HttpConnection::connect_from("127.0.0.2", server.address);
    fourth.read().unwrap().expect(503);
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "a client that connects again at once costs little"
    );
    assert_eq!(unknown(&server).send_from("127.0.0.3").status, 404, "another address");
    drop(open);
    eventually_true("the address is served again", || {
        let mut wire = HttpConnection::connect_from("127.0.0.2", server.address);
        unknown(&server).on(&mut wire).is_ok_and(|answer| answer.status == 404)
    });
}

#[test]
fn the_connections_of_a_trusted_proxy_are_limited_only_together() {
    let lodge = lodge().with("LODGE_HTTP_CONNECTIONS_MAX", "20");
    let server = lodge.with("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "1").start();
    for mut wire in silent(&server, PROXY, 20) {
        assert_eq!(unknown(&server).on(&mut wire).unwrap().status, 404);
    }
    assert!(refused(&server) < 0.5);
}
