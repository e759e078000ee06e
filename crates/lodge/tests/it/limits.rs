//! Limits per client address, for requests that can be abused.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{Lodge, Request, Response, Server};

fn put(server: &Server, number: usize) -> Request {
    server.put(&format!("/?short=s{number}&long=example.org"))
}

fn is_refused(answer: &Response) {
    assert!((1..=60).contains(&answer.expect_retry_after(429)), "{answer:?}");
}

#[test]
fn link_creation_is_limited_per_address_behind_the_proxy() {
    let server = Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "5").start();
    let from = |address: &str, number: usize| put(&server, number).from(address).send();
    for number in 0..5 {
        assert_eq!(from("203.0.113.9, 198.51.100.1", number).status, 201);
    }
    let began = Instant::now();
    let refused = from("127.0.0.1, 198.51.100.1", 5);
    assert!(
        began.elapsed() >= Duration::from_millis(150),
        "a client that repeats at once costs little"
    );
    is_refused(&refused);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    let link = json!({ "target": "example.org" });
    let post = |path: &str| server.post(path).from("198.51.100.1");
    is_refused(&post("/api/links").json(&link).send());
    is_refused(&post("/api/bulk/links").json(json!({ "links": [link] })).send());
    let page = post("/links").browser().form("target=example.org").send();
    is_refused(&page);
    assert!(page.text().starts_with("<!doctype html>"));
    assert_eq!(server.links_stored(), 5);

    assert_eq!(from("198.51.100.2", 5).status, 201, "another address");
    let forwarded = "for=198.51.100.3;proto=https";
    put(&server, 6).header("Forwarded", forwarded).expect(201);
    assert_eq!(server.get("/s0").status, 307);
    // Redirects are not limited.
    server.ask("GET", "/s0").from("198.51.100.1").expect(307);
}

#[test]
fn loopback_and_api_keys_are_not_limited() {
    let (lodge, server) = Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "5").started();
    for number in 0..30 {
        put(&server, number).expect(201);
    }
    let key = lodge.key("me");
    for number in 30..60 {
        put(&server, number).from("198.51.100.1").bearer(&key).expect(201);
    }
}

#[test]
fn links_of_one_owner_are_limited_per_minute_and_per_day() {
    for setting in
        ["LODGE_LIMITS_OWNER_CREATIONS_PER_MINUTE", "LODGE_LIMITS_OWNER_CREATIONS_PER_DAY"]
    {
        let (lodge, server) = Lodge::new().with(setting, "5").started();
        let [key, other] = ["me", "other"].map(|name| lodge.key(name));
        let put = |number: usize| put(&server, number).from(&format!("198.51.100.{number}"));
        for number in 0..5 {
            put(number).bearer(&key).expect(201);
        }
        let refused = put(5).bearer(&key).send();
        assert!(refused.expect_retry_after(429) >= 1, "{setting}: {refused:?}");
        put(6).bearer(&other).expect(201);
        let links = json!({ "links": vec![json!({ "target": "example.org" }); 6] });
        let bulk = server.post("/api/bulk/links").from("198.51.100.1").bearer(&other).json(&links);
        assert!(bulk.expect(400).text().contains("must be at most 5 per request"));
    }
}

#[test]
fn an_ipv6_subscriber_is_one_client() {
    let server = Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "3").start();
    let from = |address: &str, number: usize| put(&server, number).from(address).send();
    for number in 0..3 {
        assert_eq!(from(&format!("2001:db8::{number}"), number).status, 201);
    }
    is_refused(&from("2001:db8::ffff", 3));
    assert_eq!(from("2001:db8:0:1::1", 3).status, 201);
}

#[test]
fn a_bulk_counts_for_every_link_in_it() {
    let server = Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "5").start();
    let bulk = |count: usize| {
        let links = json!({ "links": vec![json!({ "target": "example.org" }); count] });
        server.post("/api/bulk/links").from("198.51.100.1").json(&links).send()
    };
    assert_eq!(bulk(4).json()["created"], 4);
    is_refused(&bulk(4));
    assert_eq!(server.links_stored(), 4);
}

#[test]
fn attempts_to_guess_passwords_and_keys_are_limited() {
    let (lodge, server) = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "3").started();
    server.create(&json!({ "target": "example.org", "short": "door", "password": "right" }));
    let key = lodge.key("me");
    let attempt =
        |address: &str, path: &str, form: &str| server.post(path).from(address).form(form).send();
    for _ in 0..3 {
        assert_eq!(attempt("198.51.100.1", "/door", "password=wrong").status, 403);
    }
    is_refused(&attempt("198.51.100.1", "/door", "password=right"));
    assert_eq!(attempt("198.51.100.2", "/door", "password=right").status, 303);
    for _ in 0..3 {
        assert_eq!(attempt("198.51.100.3", "/login", "api_key=lodge_x").status, 403);
    }
    is_refused(&attempt("198.51.100.3", "/login", &format!("api_key={key}")));
    is_refused(&attempt("198.51.100.3", "/links/door/open", "manage_key=manage_x"));
}

#[test]
fn wrong_passwords_of_one_link_are_limited_for_all_addresses_together() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "0").start();
    for short in ["door", "gate"] {
        server.create(&json!({ "target": "example.org", "short": short, "password": "right" }));
    }
    let attempt = |number: usize, path: &str, password: &str| {
        let from = format!("198.51.100.{number}");
        server.post(path).from(&from).form(&format!("password={password}")).send()
    };
    for number in 0..100 {
        assert_eq!(attempt(number, "/door", "wrong").status, 403, "{number}");
        if number % 10 == 0 {
            assert_eq!(attempt(number, "/door", "right").status, 303, "right ones do not count");
        }
    }
    let refused = attempt(101, "/door", "right").expect_retry_after(429);
    assert!((600..=900).contains(&refused), "{refused}");
    assert_eq!(attempt(101, "/gate", "right").status, 303, "another link");
}

#[test]
fn changes_of_a_link_password_are_limited() {
    let server = Lodge::new().with("LODGE_LIMITS_ATTEMPTS_PER_MINUTE", "3").start();
    let link = server.create(&json!({ "target": "example.org", "short": "door" }));
    let edit = |body: serde_json::Value| {
        server.manage(&link, "PATCH").from("198.51.100.1").json(body).send()
    };
    for number in 0..3 {
        assert_eq!(edit(json!({ "password": number.to_string() })).status, 200);
    }
    is_refused(&edit(json!({ "password": "x" })));
    assert_eq!(edit(json!({ "tags": ["a"] })).status, 200, "tags need no hash");
}
