//! Links by the JSON API.

use serde_json::{Value, json};

use crate::{Lodge, Response, Server, assert_fields, each};

fn create(server: &Server, link: &Value) -> Response {
    server.post("/api/links").json(link).send()
}

#[test]
fn creating_a_link_returns_it_with_its_location_and_key() {
    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    let answer = create(
        &server,
        &json!({ "target": "example.org", "short": "gg", "redirect": 301, "tags": ["b", "a"],
            "expires_at": "2099-01-31T12:00:00Z", "max_clicks": 7 }),
    );
    answer.leads_to(201, "/api/links/gg");
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let link = answer.json();
    let wanted = json!({ "short": "gg", "short_url": "https://go.example/gg", "redirect": 301,
        "target": "https://example.org/", "state": "live", "expires_at": "2099-01-31T12:00:00Z",
        "max_clicks": 7, "clicks_used": 0, "tags": ["a", "b"] });
    assert_fields(&link, wanted);
    assert!(link["manage_key"].as_str().unwrap().starts_with("manage_"));
    let read = server.manage(&link, "GET").send();
    let mut expected = link.clone();
    expected.as_object_mut().unwrap().remove("manage_key");
    assert_eq!(read.json(), expected, "all but the key, which is returned once");
    assert_eq!(create(&server, &json!({ "target": "x.org", "short": "gg" })).status, 409);
}

#[test]
fn generated_shorts_are_short_and_all_different() {
    let server = Lodge::new().start();
    let mut shorts: Vec<String> = (0..200)
        .map(|_| server.create(&json!({ "target": "example.org" }))["short"].to_string())
        .collect();
    assert!(shorts.iter().all(|short| short.len() == 7 + 2), "{shorts:?}");
    shorts.sort_unstable();
    shorts.dedup();
    assert_eq!(shorts.len(), 200);
}

#[test]
fn patch_changes_the_given_fields_and_null_removes_them() {
    let server = Lodge::new().start();
    let link = server
        .create(&json!({ "target": "example.org", "short": "gg", "tags": ["a"], "max_clicks": 5,
            "expires_at": "2099-01-31T12:00:00Z", "password": "x" }));
    let patch = |change: Value| server.manage(&link, "PATCH").json(change).expect(200).json();
    let changed = patch(json!({ "redirect": 308 }));
    let wanted = json!({ "redirect": 308, "target": "https://example.org/", "tags": ["a"],
        "max_clicks": 5, "version": 2 });
    assert_fields(&changed, wanted);
    assert_eq!(changed.get("manage_key"), None);
    let changed =
        patch(json!({ "expires_at": null, "max_clicks": null, "password": null, "tags": [] }));
    let none = json!({ "expires_at": null, "max_clicks": null, "has_password": false, "tags": [] });
    assert_fields(&changed, none);
    assert_eq!(patch(json!({}))["target"], "https://example.org/");
    assert_eq!(server.get("/gg").status, 308);
}

#[test]
fn a_change_with_another_version_is_refused() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let send = |method: &str, version: &str| {
        let ask = server.manage(&link, method).header("If-Match", version);
        if method == "PATCH" { ask.json(json!({ "redirect": 302 })) } else { ask }.send()
    };
    assert_eq!(send("PATCH", "\"7\"").status, 412);
    assert_eq!(send("PATCH", "\"1\"").header("etag"), Some("\"2\""));
    assert_eq!(send("PATCH", "\"1\"").status, 412);
    assert_eq!(send("DELETE", "\"1\"").status, 412);
    assert_eq!(send("PATCH", "nonsense").status, 400);
    assert_eq!(server.get("/gg").status, 302);
    assert_eq!(send("DELETE", "\"2\"").status, 204);
}

#[test]
fn a_new_manage_key_invalidates_the_old_one() {
    let server = Lodge::new().start();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let renew = server.manage(&link, "PATCH").json(json!({ "new_manage_key": true }));
    let renewed = renew.send().json();
    assert_ne!(renewed["manage_key"], link["manage_key"]);
    let old_key = link["manage_key"].as_str().unwrap();
    for (method, path) in
        [("GET", "/api/links/gg"), ("GET", "/api/links/gg/clicks"), ("DELETE", "/api/links/gg")]
    {
        server.ask(method, path).bearer(old_key).expect(403);
    }
    let server = server.restart_after_kill();
    let read = |link: &Value| server.manage(link, "GET").send().status;
    assert_eq!((read(&link), read(&renewed)), (403, 200));
    server.manage(&renewed, "DELETE").expect(204);
}

#[test]
fn bulk_creation_answers_for_every_line() {
    let server = Lodge::new().start();
    let answer = server
        .post("/api/bulk/links")
        .json(json!({ "links": [
            { "target": "example.org", "short": "one" },
            { "target": "javascript:x" },
            { "target": "example.org", "short": "one" },
            { "target": "example.org", "colour": "red" },
            { "target": "example.org" },
            5,
        ] }))
        .expect(200)
        .json();
    assert_eq!((&answer["created"], &answer["refused"]), (&json!(2), &json!(4)));
    let lines = &answer["results"];
    assert_eq!(each(lines, "status"), [201, 400, 409, 400, 201, 400]);
    assert_eq!(lines[1]["field"], "target");
    assert_eq!(lines[3]["field"], "colour");
    assert_eq!(lines[5]["detail"], "body: must be a JSON object");
    assert_eq!(server.links_stored(), 2);
    server.manage(&lines[0]["link"], "DELETE").expect(204);
}

#[test]
fn the_qr_code_is_an_svg_of_the_short_url() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let answer = server.get("/api/links/gg/qr.svg");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/svg+xml")));
    assert!(answer.text().starts_with("<svg ") && answer.text().ends_with("</svg>"));
    assert_eq!(server.get("/api/links/unknown/qr.svg").status, 404);
}

#[test]
fn the_openapi_document_is_served_with_this_deployments_url() {
    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    let document = server.get("/api/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(document["servers"][0]["url"], "https://go.example");
    assert!(document["paths"]["/api/links"]["post"].is_object());
}
