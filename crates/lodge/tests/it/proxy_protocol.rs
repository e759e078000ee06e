//! A balancer that forwards bytes names each client in a header of the PROXY protocol.

use std::{io::ErrorKind, net::SocketAddr};

use serde_json::json;

use crate::{HttpConnection, Lodge, Request, Response, Server, eventually_true};

/// The balancer. Other loopback addresses are those of clients.
const PROXY: &str = "127.0.0.9";

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const LOCAL: u8 = 0x20;
const FORWARDED: u8 = 0x21;

fn lodge() -> Lodge {
    Lodge::new()
        .with("LODGE_HTTP_TRUSTED_PROXIES", PROXY)
        .with("LODGE_HTTP_PROXY_PROTOCOL", "true")
        .with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "3")
        .with("LODGE_APPS", "links")
}

/// Returns a header of `command` for a client at `source`, with `extensions` after the addresses.
fn header(command: u8, source: &str, extensions: &[u8]) -> Vec<u8> {
    let source: SocketAddr = source.parse().unwrap();
    let (family, addresses) = match source {
        SocketAddr::V4(v4) => (0x11, [&v4.ip().octets()[..], &[10, 0, 0, 1]].concat()),
        SocketAddr::V6(v6) => (0x21, [&v6.ip().octets()[..], &[0; 16]].concat()),
    };
    let ports = [source.port().to_be_bytes(), [0, 80]].concat();
    let length = u16::try_from(addresses.len() + ports.len() + extensions.len()).unwrap();
    let start = [SIGNATURE, &[command, family], &length.to_be_bytes()].concat();
    [&start[..], &addresses, &ports, extensions].concat()
}

/// Opens a connection of the balancer that begins with these bytes.
fn from_proxy(server: &Server, beginning: &[u8]) -> HttpConnection {
    let mut wire = HttpConnection::connect_from(PROXY, server.address);
    wire.write(beginning).unwrap();
    wire
}

fn send(server: &Server, source: &str, request: &Request) -> Response {
    request.on(&mut from_proxy(server, &header(FORWARDED, source, b""))).unwrap()
}

fn create(server: &Server) -> Request {
    server.post("/api/links").json(json!({ "target": "example.org" }))
}

/// Whether the server closes the connection without an answer.
fn is_closed(mut wire: HttpConnection) -> bool {
    match wire.read_to_end() {
        Ok(rest) => rest.is_empty(),
        // The server had not read all bytes.
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn limits_count_for_the_client_that_the_balancer_names() {
    let server = lodge().start();
    let create = create(&server);
    let extensions = [&[4, 0, 2, 1, 2][..], &[0xee, 0, 200], &[7; 200]].concat();
    for beginning in [
        header(FORWARDED, "198.51.100.1:1", b""),
        header(FORWARDED, "198.51.100.1:2", &extensions),
        header(FORWARDED, "[::ffff:198.51.100.1]:3", b""),
    ] {
        assert_eq!(create.on(&mut from_proxy(&server, &beginning)).unwrap().status, 201);
    }
    assert_eq!(send(&server, "198.51.100.1:4", &create).status, 429);
    let forged = create.clone().from("198.51.100.9");
    assert_eq!(send(&server, "198.51.100.1:5", &forged).status, 429, "the client's own header");
    assert_eq!(send(&server, "198.51.100.2:1", &forged).status, 201);
    assert_eq!(send(&server, "127.0.0.9:1", &forged).status, 201, "through a second proxy");
    assert_eq!(send(&server, "127.0.0.9:2", &forged).status, 201);
    assert_eq!(send(&server, "127.0.0.9:3", &forged).status, 201);
    assert_eq!(send(&server, "127.0.0.9:4", &forged).status, 429);
}

#[test]
fn one_client_cannot_take_all_connections_of_the_balancer() {
    let server = lodge().with("LODGE_HTTP_CONNECTIONS_PER_ADDRESS_MAX", "3").start();
    let unknown = server.ask("GET", "/unknown");
    for (client, same, other) in [
        ("198.51.100.1:1", "198.51.100.1:9", "198.51.100.2:1"),
        ("[2a00::1]:1", "[2a00::ffff:0:1]:1", "[2a00:0:0:1::1]:1"),
    ] {
        let mut open = [(); 3].map(|()| from_proxy(&server, &header(FORWARDED, client, b"")));
        // Headers are read concurrently, so each place is taken for sure only when a request is answered.
        for wire in &mut open {
            assert_eq!(unknown.on(wire).unwrap().status, 404);
        }
        let mut excess = from_proxy(&server, &header(FORWARDED, same, b""));
        assert_eq!(excess.read().unwrap().expect_retry_after(503), 1);
        assert_eq!(excess.read_to_end().unwrap(), b"", "closed");
        assert_eq!(send(&server, other, &unknown).status, 404);
    }
    let refused = server.metric("lodge_http_connections_per_address_refused_total ");
    assert!((1.5..2.5).contains(&refused), "{refused}");
}

#[test]
fn a_connection_of_the_balancer_begins_with_a_valid_header_or_is_closed() {
    let server = lodge().with("LODGE_HTTP_HEADER_TIMEOUT_S", "1").start();
    let long = header(FORWARDED, "198.51.100.1:1", &[0; 509]);
    for beginning in [
        &server.ask("GET", "/unknown").bytes()[..],
        b"PROXY TCP4 198.51.100.1 10.0.0.1 1 80\r\nGET / HTTP/1.1\r\n",
        &long,
        // Incomplete ones, until the timeout.
        b"",
        &SIGNATURE[..3],
        &header(FORWARDED, "198.51.100.1:1", b"")[..20],
    ] {
        assert!(is_closed(from_proxy(&server, beginning)), "{beginning:?}");
    }
    eventually_true("all are counted", || {
        (5.5..6.5).contains(&server.metric("lodge_http_proxy_headers_failed_total "))
    });
    let longest = header(FORWARDED, "198.51.100.1:1", &[0; 508]);
    let answer = server.ask("GET", "/unknown").on(&mut from_proxy(&server, &longest));
    assert_eq!(answer.unwrap().status, 404);
}

#[test]
fn other_clients_connect_without_a_header() {
    let server = lodge().start();
    let request = server.ask("GET", "/unknown");
    assert_eq!(request.send_from("127.0.0.2").status, 404);
    let mut wire = HttpConnection::connect_from("127.0.0.2", server.address);
    let forged = [header(FORWARDED, "198.51.100.1:1", b""), request.bytes()].concat();
    wire.write(&forged).unwrap();
    wire.read().unwrap().expect(400);
    let ready = Request::new(server.ops, "GET", "/health/ready").send_from(PROXY);
    assert_eq!(ready.status, 200, "the ops listener takes no header");
}

#[test]
fn a_health_check_of_the_balancer_is_its_own_connection() {
    let server = lodge().start();
    let create = create(&server);
    let beginnings =
        [header(LOCAL, "198.51.100.1:1", b""), [SIGNATURE, &[LOCAL, 0, 0, 0]].concat()];
    for beginning in beginnings.iter().cycle().take(4) {
        let made = create.on(&mut from_proxy(&server, beginning)).unwrap();
        assert_eq!(made.status, 201, "a process on this machine is not limited");
    }
    let named = create.clone().from("198.51.100.2");
    for status in [201, 201, 201, 429] {
        let made = named.on(&mut from_proxy(&server, &beginnings[0])).unwrap();
        assert_eq!(made.status, status, "a proxy's own headers are read");
    }
}

#[test]
fn a_header_is_garbage_unless_the_setting_is_on() {
    let server = lodge().with("LODGE_HTTP_PROXY_PROTOCOL", "false").start();
    let request = server.ask("GET", "/unknown").bytes();
    let bytes = [header(FORWARDED, "198.51.100.1:1", b""), request].concat();
    from_proxy(&server, &bytes).read().unwrap().expect(400);
}
