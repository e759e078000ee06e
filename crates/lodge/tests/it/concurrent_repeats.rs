//! Concurrent and later repeats of a request, whose responses must not depend on what happened since.

use std::thread;

use serde_json::json;

use crate::{Lodge, eventually_true, replays::UUID_4};

/// Rounds of each race, which does not occur every time.
const ROUNDS: usize = 30;

#[test]
fn concurrent_repeats_of_a_deletion_get_the_same_answer() {
    let server = Lodge::new().start();
    for _ in 0..ROUNDS {
        let link = server.create(&json!({ "target": "example.org" }));
        for answer in server.manage(&link, "DELETE").idempotency_key("k").at_once(2) {
            answer.expect(204);
        }
    }
}

#[test]
fn concurrent_repeats_of_a_key_renewal_get_the_same_key() {
    let server = Lodge::new().start();
    for _ in 0..ROUNDS {
        let link = server.create(&json!({ "target": "example.org" }));
        let edit = server.manage(&link, "PATCH").json(json!({ "new_manage_key": true }));
        let answers = edit.idempotency_key(UUID_4).at_once(2);
        assert_eq!(answers[0].text(), answers[1].text());
        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    }
}

#[test]
fn a_repeated_bulk_is_answered_line_by_line_as_the_first_time() {
    let server = Lodge::new().start();
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(1500);
    let links = json!({ "links": [
        { "target": "example.org/1", "expires_at": soon.to_string() },
        { "target": "javascript:x" },
        { "target": "example.org/2" },
    ] });
    let post = || server.post("/api/bulk/links").idempotency_key("k").json(&links).send();
    let first = post();
    assert_eq!((first.status, &first.json()["created"]), (200, &json!(2)));
    let short = first.json()["results"][0]["link"]["short"].as_str().unwrap().to_owned();
    eventually_true("the first link expires", || server.get(&format!("/{short}")).status == 410);
    let again = post();
    assert_eq!((again.status, again.text()), (200, first.text()));
}

#[test]
fn repeats_do_not_count_against_the_limit_of_creations() {
    let server = Lodge::new().with("LODGE_LIMITS_CREATIONS_PER_MINUTE", "1").start();
    let post = || {
        let ask = server.post("/api/links").idempotency_key("k").from("192.0.2.1");
        ask.json(json!({ "target": "example.org" })).send().status
    };
    assert_eq!([post(), post(), post()], [201, 201, 201]);
}

#[test]
fn in_replace_mode_every_put_succeeds_and_the_last_one_stays() {
    let server = Lodge::new().with("LODGE_LINKS_MODE", "replace").start();
    thread::scope(|scope| {
        for writer in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..40 {
                    let path = format!("/?short=gg&long=example.org/{writer}/{number}");
                    let status = server.put(&path).send().status;
                    assert!(matches!(status, 200 | 201), "{status}");
                }
            });
        }
    });
    for number in (0..40).rev() {
        let path = format!("/?short=mine&long=example.org/{number}");
        server.put(&path).expect(201);
        let to = format!("https://example.org/{number}");
        server.get("/mine").leads_to(307, &to);
    }
    server.put("/?short=mine&long=example.org/0").expect(200);
}

#[test]
fn a_put_does_not_reveal_the_target_of_a_protected_link() {
    let server = Lodge::new().start();
    for (short, link) in [
        ("secret", json!({ "target": "example.org/x", "short": "secret", "password": "p" })),
        ("few", json!({ "target": "example.org/x", "short": "few", "max_clicks": 5 })),
    ] {
        server.create(&link);
        let put = |long: &str| server.put(&format!("/?short={short}&long={long}")).send();
        assert_eq!(put("example.org/x").status, 409);
        assert_eq!(put("example.org/x").text().len(), put("example.org/y").text().len());
    }
}

#[test]
fn clicks_wait_in_memory_while_the_store_is_unavailable() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "busy" }));
    let database = lodge.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..100 {
        assert_eq!(server.get("/busy").status, 307);
    }
    eventually_true("a batch is refused", || {
        server.metric("lodge_links_click_batches_failed_total") >= 1.0
    });
    database.execute_batch("ROLLBACK").unwrap();
    eventually_true("all clicks are stored", || server.clicks(&link, "day")["total"] == json!(100));
}
