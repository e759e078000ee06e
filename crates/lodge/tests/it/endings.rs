//! How links end: by time, by clicks, by deletion; and that an edit takes effect at once.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{Lodge, Server, eventually_true};

fn change(server: &Server, link: &Value, change: &Value) -> u16 {
    server.manage(link, "PATCH").json(change).send().status
}

fn delete(server: &Server, link: &Value) -> u16 {
    server.manage(link, "DELETE").send().status
}

fn in_seconds(seconds: i64) -> String {
    (Timestamp::now() + SignedDuration::from_secs(seconds)).to_string()
}

/// Asserts that every path of an ended link answers 410 with the reason.
fn is_over(server: &Server, short: &str, why: &str) {
    for path in [format!("/{short}"), format!("/{short}+"), format!("/api/links/{short}")] {
        let answer = server.get(&path);
        assert_eq!((answer.status, answer.location()), (410, None), "{path}");
        answer.says(why);
    }
    let page = server.ask("GET", &format!("/{short}")).browser().expect(410);
    let told = page.text().to_lowercase().replace("&#39;", "'");
    assert!(told.contains(&why.to_lowercase()), "{told}");
    server.ask("HEAD", &format!("/{short}")).expect(410);
}

#[test]
fn expiry_is_checked_on_every_read_even_of_cached_links() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
    assert_eq!(change(&server, &link, &json!({ "expires_at": in_seconds(3) })), 200);
    assert_eq!(server.get("/gg").status, 307, "now the link is cached with its expiry");
    eventually_true("the link expires", || server.get("/gg").status == 410);
    is_over(&server, "gg", "this link has expired");
    let again = server.put("/?short=gg&long=example.com").send();
    assert_eq!(again.status, 409, "its short stays reserved");
    again.says("this short is reserved, because its link has expired");
    assert_eq!(change(&server, &link, &json!({ "expires_at": null })), 200);
    assert_eq!(server.get("/gg").status, 307, "the owner can remove the expiry");
}

#[test]
fn a_link_is_gone_after_its_last_click() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org", "short": "two", "max_clicks": 2 }));
    assert_eq!(server.get("/two").status, 307);
    assert_eq!(server.get("/two").status, 307);
    is_over(&server, "two", "this link has reached its click limit");
    let read = server.manage(&link, "GET").send().json();
    assert_eq!((&read["state"], &read["clicks_used"]), (&json!("exhausted"), &json!(2)));
    assert_eq!(change(&server, &link, &json!({ "max_clicks": 3 })), 200);
    assert_eq!(server.get("/two").status, 307, "three in total, of which two are used");
    assert_eq!(server.get("/two").status, 410);
}

#[test]
fn a_deleted_link_is_gone_and_its_short_reserved() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
    assert_eq!(delete(&server, &link), 204);
    is_over(&server, "gg", "this link was deleted");
    assert_eq!(delete(&server, &link), 410);
    let again = server.put("/?short=gg&long=example.org").expect(409);
    again.says("this short is reserved, because its link was deleted");
    let server = server.restart_after_kill();
    is_over(&server, "gg", "this link was deleted");
    server.put("/?short=gg&long=example.org").expect(409);
}

#[test]
fn a_short_is_free_after_its_reservation_and_keeps_nothing_of_the_old_link() {
    let server = Lodge::new().with("LODGE_LINKS_RESERVED_DAYS", "0").start();
    let first = server.create(&json!({ "target": "example.org", "short": "gg" }));
    assert_eq!(server.get("/gg").status, 307);
    assert_eq!(delete(&server, &first), 204);
    assert_eq!(server.get("/gg").status, 404);
    let second = server.create(&json!({ "target": "example.com", "short": "gg" }));
    server.get("/gg").leads_to(307, "https://example.com/");
    assert_eq!(change(&server, &first, &json!({ "target": "evil.example" })), 403);
    assert_eq!(delete(&server, &first), 403, "the old manage key is not valid for the new link");
    assert_eq!(delete(&server, &second), 204);
}

#[test]
fn an_edit_takes_effect_with_the_next_request() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org/0", "short": "gg" }));
    for number in 1..=20 {
        let before = format!("https://example.org/{}", number - 1);
        assert_eq!(server.get("/gg").location(), Some(before.as_str()));
        let target = format!("example.org/{number}");
        assert_eq!(change(&server, &link, &json!({ "target": target })), 200);
    }
    assert_eq!(server.get("/gg").location(), Some("https://example.org/20"));
}
