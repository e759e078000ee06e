//! The pages on which admins manage keys, gates, bots and webhooks.

use serde_json::json;

use crate::{Lodge, Response, Server, between};

const KINDS: [(&str, &str, &str); 3] = [
    ("/admin/keys", "lodge_", "key"),
    ("/admin/gates", "lodge_gate_", "gate"),
    ("/admin/bots", "lodge_bot_", "bot"),
];

/// Creates an account with a role. Returns its token.
fn staff(server: &Server, name: &str, role: &str) -> String {
    server.make_account(name);
    server.lodge.admin(&["user", "role", name, role]);
    server.token(name)
}

fn send(server: &Server, token: &str, path: &str, form: &str) -> Response {
    server.on_page(token, "POST", path).form(form).send()
}

/// Returns the key or secret that a page shows, which no cache may keep.
fn shown(answer: Response) -> String {
    let answer = answer.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let page = answer.text();
    between(&page, "<p class=\"secret\"><code>", "</code>").unwrap().to_owned()
}

/// Sends a request that needs a key of the page. Returns its status.
fn used(server: &Server, path: &str, key: &str) -> u16 {
    let (api, body) = match path {
        "/admin/keys" => ("/api/links", json!({ "target": "example.org" })),
        "/admin/bots" => ("/api/board/lobby/messages", json!({ "client_id": "a", "body": "b" })),
        _ => ("/skiers/3/seasons/2025/days/1/skiers/7", json!({ "time": 1, "liftID": 1 })),
    };
    server.post(api).bearer(key).json(&body).send().status
}

#[test]
fn an_admin_creates_lists_and_revokes_keys() {
    let (lodge, server) = Lodge::new().started();
    let root = staff(&server, "rosa", "admin");
    for (path, prefix, command) in KINDS {
        let key = shown(send(&server, &root, path, "action=create&name=+north+"));
        assert!(key.starts_with(prefix), "{key}");
        assert_eq!(used(&server, path, &key), 201);
        let page = server.on_page(&root, "GET", path).expect(200);
        page.says("<strong class=\"wrap\">north</strong>");
        assert!(!page.text().contains(&key), "a key is shown once");
        send(&server, &root, path, "action=create&name=north")
            .expect(409)
            .says("id=\"name-error\"");
        send(&server, &root, path, "action=create&name=").expect(400).says("id=\"name-error\"");

        let revoked = send(&server, &root, path, "action=revoke&name=north");
        revoked.leads_to(303, &format!("{path}?revoked"));
        assert_eq!(used(&server, path, &key), 401);
        server.on_page(&root, "GET", path).expect(200).says("Revoked <time");
        lodge.run(&["admin", command, "list"]).prints("revoked");
        assert_eq!(send(&server, &root, path, "action=revoke&name=south").status, 404);
    }
}

#[test]
fn a_gate_may_be_for_one_resort_and_gets_a_new_key() {
    let server = Lodge::new().start();
    let root = staff(&server, "rosa", "admin");
    let gates = |form: &str| send(&server, &root, "/admin/gates", form);
    gates("action=create&name=north&resort=77").expect(400).says("id=\"resort-error\"");
    let other = shown(gates("action=create&name=north&resort=4"));
    assert_eq!(used(&server, "/admin/gates", &other), 403);
    let old = shown(gates("action=create&name=south&resort=3"));
    let new = shown(gates("action=renew&name=south"));
    let status = [&old, &new].map(|key| used(&server, "/admin/gates", key));
    assert_eq!(status, [401, 201]);
    assert_eq!(send(&server, &root, "/admin/keys", "action=renew&name=a").status, 400);
}

#[test]
fn an_admin_adds_and_removes_webhooks() {
    let (lodge, server) = Lodge::new().started();
    let root = staff(&server, "rosa", "admin");
    let send = |form: &str| send(&server, &root, "/admin/webhooks", form);
    let secret = shown(send("channel=lobby&url=https%3A%2F%2Fexample.org%2Fhook"));
    assert!(secret.starts_with("whsec_"), "{secret}");
    let page = server.on_page(&root, "GET", "/admin/webhooks").expect(200);
    page.says("https://example.org/hook").says("Delivering");
    assert!(!page.text().contains(&secret));
    send("channel=lobby&url=ftp%3A%2F%2Fexample.org").expect(400).says("id=\"url-error\"");
    send("channel=lobby&url=http%3A%2F%2Flocalhost%2F").expect(400).says("id=\"url-error\"");
    send("channel=nowhere&url=https%3A%2F%2Fexample.org").expect(404).says("id=\"channel-error\"");
    send("remove=1").leads_to(303, "/admin/webhooks?removed");
    assert_eq!(send("remove=1").status, 404);
    assert!(!lodge.admin(&["hook", "list"]).contains("example.org"));
}

#[test]
fn only_admins_open_these_pages_and_moderators_see_what_they_may_do() {
    let server = Lodge::new().start();
    let (max, eve) = (staff(&server, "max", "moderator"), server.member("eve"));
    for path in ["/admin/keys", "/admin/gates", "/admin/bots", "/admin/webhooks"] {
        server.get(path).leads_to(303, &format!("/login?next={path}"));
        server.post(path).form("name=a").send().leads_to(303, &format!("/login?next={path}"));
        for token in [&max, &eve] {
            server.on_page(token, "GET", path).expect(403);
            send(&server, token, path, "action=create&name=a&channel=lobby").expect(403);
        }
    }
    server.get("/admin").leads_to(303, "/login?next=/admin");
    server.on_page(&eve, "GET", "/admin").expect(403);
    let leads = |token: &str| {
        server.on_page(token, "GET", "/").expect(200).text().contains("href=\"/admin\"")
    };
    assert!(leads(&max) && !leads(&eve), "the header leads to it");
    let page = server.on_page(&max, "GET", "/admin").expect(200).text();
    assert!(page.contains("/board/-/reports") && !page.contains("/admin/keys"), "{page}");
}

#[test]
fn only_what_runs_is_managed() {
    let server = Lodge::new().with("LODGE_APPS", "links,accounts").start();
    let root = staff(&server, "rosa", "admin");
    let page = server.on_page(&root, "GET", "/admin").expect(200).text();
    assert!(page.contains("/admin/keys") && !page.contains("board") && !page.contains("gates"));
    server.get_each(404, &["/admin/gates", "/admin/bots", "/admin/webhooks"]);
    drop(server);
    let server = Lodge::new().with("LODGE_APPS", "links").start();
    server.get_each(404, &["/admin", "/admin/keys", "/admin/setup"]);
}
