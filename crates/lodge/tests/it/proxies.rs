//! Clients behind proxies: trusted proxies name them, and nothing else does.

use serde_json::json;

use crate::{Lodge, Request, Server};

/// The balancer. Other loopback addresses are those of clients.
const PROXY: &str = "127.0.0.9";

/// A server behind the balancer and a network of other proxies, that creates three links per address.
fn start() -> Server {
    Lodge::new()
        .with("LODGE_HTTP_TRUSTED_PROXIES", &format!("{PROXY},10.0.0.0/8"))
        .with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "3")
        .with("LODGE_APPS", "links")
        .start()
}

fn create(server: &Server) -> Request {
    server.post("/api/links").json(json!({ "target": "example.org" }))
}

/// Asserts that requests with these headers, the lines of a name each, count for one client: three are accepted, and
/// one more is not.
#[track_caller]
fn are_one_client(server: &Server, source: &str, requests: [&[(&str, &str)]; 4]) {
    let statuses = requests.map(|lines| {
        let line = |request: Request, (name, value): &(&str, &str)| request.header(name, value);
        lines.iter().fold(create(server), line).send_from(source).status
    });
    assert_eq!(statuses, [201, 201, 201, 429], "{source}, {requests:?}");
}

#[test]
fn headers_of_clients_and_of_other_proxies_change_nothing() {
    let server = start();
    let forged: [&[(&str, &str)]; 4] = [
        &[("X-Forwarded-For", "198.51.100.1")],
        &[("X-Forwarded-For", "198.51.100.2, 10.0.0.1")],
        &[("Forwarded", "for=198.51.100.3")],
        &[("X-Real-IP", "198.51.100.4")],
    ];
    for source in ["127.0.0.1", "127.0.0.2"] {
        are_one_client(&server, source, forged);
    }
    let named = |client: &str| create(&server).from(client).send_from(PROXY).status;
    assert_eq!(named("127.0.0.2"), 429, "the balancer names the same client");
    assert_eq!(named("127.0.0.3"), 201);
}

#[test]
fn lists_are_read_from_the_right_through_all_trusted_proxies() {
    let server = start();
    are_one_client(
        &server,
        PROXY,
        [
            &[("X-Forwarded-For", "198.51.100.1")],
            &[("X-Forwarded-For", "6.6.6.6, 198.51.100.1:4711, 10.0.0.1, ::ffff:10.0.0.2")],
            &[("X-Forwarded-For", "6.6.6.7, ::ffff:198.51.100.1"), ("X-Forwarded-For", "10.0.0.1")],
            &[(
                "Forwarded",
                "for=6.6.6.8, for=\"198.51.100.1:80\";host=\"a,for=6.6.6.9\", for=10.0.0.1",
            )],
        ],
    );
    are_one_client(
        &server,
        PROXY,
        [
            &[("X-Forwarded-For", "2a00::1")],
            &[("X-Forwarded-For", "[2a00::2]:443, 10.0.0.1")],
            &[("Forwarded", "for=\"[2a00::3]\", for=10.0.0.2")],
            &[("Forwarded", "for=6.6.6.6"), ("X-Forwarded-For", "2a00::4")],
        ],
    );
}

#[test]
fn garbage_ends_the_reading_with_the_last_good_address() {
    let server = start();
    are_one_client(
        &server,
        PROXY,
        [
            &[("X-Forwarded-For", "10.0.0.1")],
            &[("X-Forwarded-For", "6.6.6.6, unknown, 10.0.0.1")],
            &[("X-Forwarded-For", "6.6.6.7, 1.2.3.4.5, 10.0.0.1, 10.0.0.2")],
            &[("Forwarded", "for=6.6.6.8, for=_hidden, for=10.0.0.1")],
        ],
    );
    are_one_client(
        &server,
        PROXY,
        [
            &[("X-Forwarded-For", "nonsense")],
            &[("X-Forwarded-For", "")],
            &[("Forwarded", "proto=https")],
            &[("Forwarded", "for=\"6.6.6.6")],
        ],
    );
}

#[test]
fn only_a_trusted_proxy_says_that_the_client_uses_tls() {
    let server = start();
    let https = |source: &str, name: &str, value: &str| {
        let made = create(&server).header(name, value).from(source).send_from(source).expect(201);
        made.json()["short_url"].as_str().unwrap().starts_with("https://")
    };
    assert!(https(PROXY, "X-Forwarded-Proto", "https"));
    assert!(!https("127.0.0.2", "X-Forwarded-Proto", "https"));
    assert!(https(PROXY, "Forwarded", "for=127.0.0.2;proto=https"));
    assert!(!https("127.0.0.2", "Forwarded", "for=127.0.0.2;proto=https"));
    assert!(!https(PROXY, "Forwarded", "for=6.6.6.6;proto=https, for=127.0.0.2;proto=http"));
}

#[test]
fn only_a_trusted_proxy_gives_a_request_its_id() {
    let server = start();
    let request = server.ask("GET", "/unknown").header("X-Request-Id", "given");
    let id = |source: &str| request.send_from(source).header("x-request-id") == Some("given");
    assert!(id(PROXY) && !id("127.0.0.1") && !id("127.0.0.2"));
}
