//! The target of a click-limited or password-protected link is shown only to clients that may follow it.

use serde_json::{Value, json};

use crate::{Lodge, Response, Server};

const TARGET: &str = "https://secret.example/place";

fn says_nothing(answer: &Response, what: &str) {
    let head = format!("{:?}", answer.headers);
    assert!(!head.contains("secret.example"), "{what}: {head}");
    assert!(!answer.text().contains("secret.example"), "{what}: {}", answer.text());
}

/// Requests a link in every way that does not follow it, and asserts that the target is not shown.
fn look(server: &Server, short: &str) {
    for path in [
        format!("/{short}+"),
        format!("/api/links/{short}"),
        format!("/api/links/{short}/qr.svg"),
        format!("/links/{short}/qr"),
        format!("/links/{short}"),
        format!("/links/{short}/stats"),
        format!("/api/links/{short}/clicks"),
    ] {
        for answer in [server.get(&path), server.ask("GET", &path).browser().send()] {
            assert!(answer.status < 500, "{path}: {answer:?}");
            says_nothing(&answer, &path);
        }
    }
    let head = server.ask("HEAD", &format!("/{short}")).send();
    assert_eq!(head.leads(), (200, None));
    says_nothing(&head, "HEAD");
    for guess in [TARGET, "https://elsewhere.example/"] {
        let put = server.put(&format!("/?short={short}&long={guess}")).send();
        assert_eq!(put.status, 409, "the answer is the same for a right and a wrong guess");
    }
}

#[test]
fn viewing_a_limited_link_neither_reveals_its_target_nor_uses_a_click() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": TARGET, "short": "once", "max_clicks": 1 }));
    look(&server, "once");
    let public = server.get("/api/links/once").json();
    assert_eq!((public.get("target"), public.get("max_clicks")), (None, None));
    let managed = server.manage(&link, "GET").send().json();
    assert_eq!((&managed["target"], &managed["clicks_used"]), (&json!(TARGET), &json!(0)));
    server.get("/once").leads_to(307, TARGET);
}

#[test]
fn a_password_link_shows_a_form_and_opens_only_with_the_right_password() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": TARGET, "short": "door", "password": "sesame öffne" }));
    look(&server, "door");
    assert_eq!(server.get("/api/links/door").json()["has_password"], json!(true));

    let asked = server.get("/door");
    assert_eq!((asked.status, asked.location()), (200, None));
    assert!(asked.text().contains("<form") && asked.text().contains("type=\"password\""));
    says_nothing(&asked, "the form");
    let policy = asked.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' http: https:"), "the form redirects: {policy}");

    for wrong in ["password=sesame", "password=", &format!("password={}", "x".repeat(129))] {
        let answer = server.post("/door").form(wrong).send();
        let expected = if wrong == "password=sesame" { 403 } else { 400 };
        assert_eq!((answer.status, answer.location()), (expected, None), "{wrong}");
        assert!(answer.text().contains("<form"), "the form is shown again");
        says_nothing(&answer, wrong);
    }
    let right = server.post("/door").form("password=sesame+%C3%B6ffne").send();
    right.leads_to(303, TARGET);
    assert_eq!(right.header("cache-control"), Some("private, no-store"));
}

#[test]
fn a_link_password_can_be_changed_and_removed() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": TARGET, "short": "door", "password": "old" }));
    let change = |change: Value| server.manage(&link, "PATCH").json(change).send().status;
    let open =
        |password: &str| server.post("/door").form(&format!("password={password}")).send().status;
    assert_eq!(open("old"), 303);
    assert_eq!(change(json!({ "password": "new" })), 200);
    assert_eq!((open("old"), open("new")), (403, 303));
    assert_eq!(change(json!({ "password": null })), 200);
    server.get("/door").leads_to(307, TARGET);
}

#[test]
fn no_password_is_stored_or_logged_in_plain_text() {
    let (lodge, server) = Lodge::new().with("LODGE_LOG_FILTER", "trace").started();
    let link = server
        .create(&json!({ "target": TARGET, "short": "door", "password": "correct-horse-battery" }));
    assert_eq!(server.post("/door").form("password=correct-horse-battery").send().status, 303);
    let log = server.log();
    assert!(!log.contains("correct-horse-battery"), "the password is in the log");
    assert!(!log.contains(link["manage_key"].as_str().unwrap()), "a manage key is in the log");
    assert_eq!(server.stop(), Some(0));
    let file = std::fs::read(lodge.data().join("lodge.db")).unwrap();
    assert!(!contains(&file, b"correct-horse-battery"), "the password is in the database");
    assert!(contains(&file, b"$argon2id$v=19$m=19456,t=2,p=1$"));
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
