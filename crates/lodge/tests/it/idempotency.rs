//! Requests with the same Idempotency-Key are executed once and answered with the stored outcome.

use serde_json::{Value, json};

use crate::{Lodge, Response, Server, each, replays::UUID_4};

/// An installation with a fixed public URL, so that responses are the same before and after a restart.
fn lodge() -> Lodge {
    Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example")
}

fn post(server: &Server, key: &str, link: &Value) -> Response {
    server.post("/api/links").idempotency_key(key).json(link).send()
}

fn is_replayed(answer: &Response) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

fn same(first: &Response, second: &Response) {
    assert_eq!((first.status, first.text()), (second.status, second.text()));
    assert_eq!(first.location(), second.location());
    assert!(!is_replayed(first) && is_replayed(second), "{first:?} {second:?}");
}

#[test]
fn a_repeated_creation_is_answered_as_the_first_time_also_after_kill_9() {
    let server = lodge().start();
    let link = json!({ "target": "example.org", "tags": ["a"], "max_clicks": 3 });
    let first = post(&server, "k", &link).expect(201);
    same(&first, &post(&server, "k", &link));
    assert_eq!(server.links_stored(), 1);
    let server = server.restart_after_kill();
    same(&first, &post(&server, "k", &link));
    assert_eq!(server.links_stored(), 1);
    let made = first.json();
    assert_eq!(server.get(&format!("/{}", made["short"].as_str().unwrap())).status, 307);
    server.manage(&made, "DELETE").expect(204);
    same(&first, &post(&server, "k", &link));
}

#[test]
fn a_repeated_put_is_answered_as_the_first_time() {
    let server = lodge().start();
    let put = |key: &str| server.put("/?short=gg&long=example.org").idempotency_key(key).send();
    let first = put("k").expect(201);
    same(&first, &put("k"));
    let second = put("another");
    assert_eq!(second.status, 200, "with another key: the link exists");
    same(&second, &put("another"));
    server.put("/?short=gg&long=example.com").idempotency_key("k").expect(422);
}

#[test]
fn a_repeated_change_or_deletion_is_answered_as_the_first_time() {
    let server = lodge().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let edit = |server: &Server, once: &str, change: &Value| {
        server.manage(&link, "PATCH").idempotency_key(once).json(change).send()
    };
    let change = json!({ "target": "example.com" });
    let changed = edit(&server, "p", &change);
    assert_eq!((changed.status, &changed.json()["version"]), (200, &json!(2)));
    same(&changed, &edit(&server, "p", &change));
    edit(&server, "p", &json!({ "target": "evil.example" })).expect(422);
    assert_eq!(server.get("/gg").location(), Some("https://example.com/"));

    let renew = json!({ "new_manage_key": true, "redirect": 302 });
    edit(&server, "n", &renew).expect_field_error(400, "Idempotency-Key");
    let renewed = edit(&server, UUID_4, &renew);
    same(&renewed, &edit(&server, UUID_4, &renew));
    let renewed = renewed.json();
    let delete = |server: &Server| server.manage(&renewed, "DELETE").idempotency_key("d").send();
    let deleted = delete(&server).expect(204);
    same(&deleted, &delete(&server));
    let server = server.restart_after_kill();
    same(&deleted, &delete(&server));
    same(&changed, &edit(&server, "p", &change));
    assert_eq!(server.get("/gg").status, 410);
}

#[test]
fn a_repeated_bulk_creation_is_answered_as_the_first_time() {
    let server = lodge().start();
    let links = json!({ "links": [
        { "target": "example.org", "expires_at": "2020-01-01T00:00:00Z" },
        { "target": "example.org" }, { "target": "javascript:x" },
        { "target": "https://go.example/gg" }, { "target": "example.com", "short": "gg" },
        { "target": "example.com", "short": "gg" },
    ] });
    let bulk =
        |server: &Server| server.post("/api/bulk/links").idempotency_key("b").json(&links).send();
    let first = bulk(&server);
    assert_eq!(each(&first.json()["results"], "status"), [400, 201, 400, 400, 201, 409]);
    same(&first, &bulk(&server));
    let server = server.restart_after_kill();
    same(&first, &bulk(&server));
    assert_eq!(server.links_stored(), 2);
}

#[test]
fn a_repeated_refusal_is_answered_as_the_first_time() {
    let server = lodge().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let wanted = json!({ "target": "example.com", "short": "gg" });
    let put = || server.put("/?short=gg&long=example.com").idempotency_key("p").send();
    for answers in [[post(&server, "k", &wanted), post(&server, "k", &wanted)], [put(), put()]] {
        let [first, second] = answers;
        assert_eq!((first.status, second.status), (409, 409));
        assert!(!is_replayed(&first) && is_replayed(&second), "{first:?} {second:?}");
    }
}

#[test]
fn a_repeated_form_that_renews_the_key_keeps_the_owner_signed_in() {
    let server = lodge().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let old = format!("__Host-lodge_manage_gg={}", link["manage_key"].as_str().unwrap());
    let form = "form=f47ac10b-58cc-4372-a567-0e02b2c3d479&version=1&target=example.org";
    let form = format!("{form}&new_manage_key=on");
    let save = || server.post("/links/gg").browser().header("Cookie", &old).form(&form).send();
    let (first, second) = (save(), save());
    assert_eq!((first.status, second.status), (303, 303), "{second:?}");
    let cookie = second.header("set-cookie").unwrap();
    assert_eq!(Some(cookie), first.header("set-cookie"));
    assert!(!cookie.starts_with(&old), "{cookie}");
    let new = cookie.split(';').next().unwrap();
    server.ask("GET", "/links/gg").browser().header("Cookie", new).send().says("Edit link");
}

#[test]
fn a_hundred_simultaneous_creations_with_one_key_make_one_link() {
    const CLIENTS: usize = 100;
    let server = lodge().start();
    let link = json!({ "target": "example.org" });
    let answers = server.post("/api/links").idempotency_key("k").json(link).at_once(CLIENTS);
    let first = answers.iter().find(|answer| !is_replayed(answer)).unwrap();
    for answer in &answers {
        assert_eq!((answer.status, answer.text()), (201, first.text()));
    }
    assert_eq!(answers.iter().filter(|answer| is_replayed(answer)).count(), CLIENTS - 1);
    assert_eq!(server.links_stored(), 1);
}

#[test]
fn the_same_key_with_another_body_is_refused_and_nothing_is_stored() {
    let server = lodge().start();
    assert_eq!(post(&server, "k", &json!({ "target": "example.org" })).status, 201);
    for other in [
        json!({ "target": "example.com" }),
        json!({ "target": "example.org", "short": "gg" }),
        json!({ "target": "example.org", "max_clicks": 1 }),
    ] {
        let answer = post(&server, "k", &other).expect(422);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    assert_eq!(server.links_stored(), 1);
}

#[test]
fn a_key_is_bound_to_its_caller_method_and_route() {
    let (lodge, server) = lodge().started();
    let (mine, theirs) = (lodge.key("me"), lodge.key("they"));
    let link = json!({ "target": "example.org" });
    let create = |bearer: &str| {
        let ask = server.post("/api/links").idempotency_key("k").json(&link);
        let answer = if bearer.is_empty() { ask } else { ask.bearer(bearer) }.send();
        assert_eq!((answer.status, is_replayed(&answer)), (201, false), "{bearer}");
    };
    create("");
    create(&mine);
    create(&theirs);
    let put = server.put("/?short=gg&long=example.org").idempotency_key("k").send();
    assert_eq!((put.status, is_replayed(&put)), (201, false));
    server
        .post("/api/bulk/links")
        .idempotency_key("k")
        .json(json!({ "links": [link] }))
        .expect(200);
    assert_eq!(server.links_stored(), 5);
}

#[test]
fn an_invalid_idempotency_key_is_refused_and_nothing_is_stored() {
    let server = lodge().start();
    let link = json!({ "target": "example.org" });
    for bad in ["", &"k".repeat(129), "é", "tab\tinside"] {
        post(&server, bad, &link).expect(400).says("Idempotency-Key");
    }
    server.post("/api/links").idempotency_key("a").idempotency_key("b").json(&link).expect(400);
    assert_eq!(server.links_stored(), 0);
    assert_eq!(post(&server, &"k".repeat(128), &link).status, 201);
    assert_eq!(post(&server, "all ~ printable! \"characters\"", &link).status, 201);
}
