//! Callers see and change only their own links, and can list all of them.

use serde_json::{Value, json};

use crate::{Lodge, Server, each, eventually_true};

fn create(server: &Server, key: &str, link: &Value) -> Value {
    server.post("/api/links").bearer(key).json(link).expect(201).json()
}

/// Returns the shorts of one page, and the cursor of the next page.
fn list(server: &Server, key: &str, query: &str) -> (Vec<Value>, Option<String>) {
    let page = server.ask("GET", &format!("/api/links?{query}")).bearer(key).expect(200).json();
    (each(&page["links"], "short"), page["next"].as_str().map(str::to_owned))
}

fn shorts(server: &Server, key: &str, query: &str) -> Vec<Value> {
    list(server, key, query).0
}

#[test]
fn the_list_of_links_is_complete_and_newest_first() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    let made: Vec<String> = (0..25).map(|number| format!("l{number:02}")).collect();
    for short in &made {
        create(&server, &key, &json!({ "target": "example.org", "short": short }));
    }
    let newest_first: Vec<String> = made.iter().rev().cloned().collect();
    assert_eq!(shorts(&server, &key, ""), newest_first);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let (page, next) = list(&server, &key, &format!("limit=10{after}"));
        if seen.is_empty() {
            // Links created meanwhile are newer, and do not move the pages.
            create(&server, &key, &json!({ "target": "example.org", "short": "late" }));
        }
        assert!(page.len() <= 10);
        seen.extend(page);
        match next {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, newest_first);
}

#[test]
fn links_of_one_bulk_request_are_listed_in_its_order() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    let shorts: Vec<String> = (0..50).map(|number| format!("l{number:02}")).collect();
    let link = |short| json!({ "target": "example.org", "short": short });
    let links: Vec<Value> = shorts.iter().map(link).collect();
    server.post("/api/bulk/links").bearer(&key).json(json!({ "links": links })).expect(200);
    let newest_first: Vec<String> = shorts.into_iter().rev().collect();
    assert_eq!(self::shorts(&server, &key, "limit=50"), newest_first);
}

#[test]
fn the_list_of_links_is_filtered_by_tag_prefix_and_words() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    for (short, target, tags) in [
        ("summer-1", "https://example.org/lifts/gondola", vec!["summer", "print"]),
        ("summer-2", "https://example.org/trails", vec!["summer"]),
        ("winter-1", "https://example.org/lifts/chair", vec!["print"]),
        ("100%_a", "https://example.org/", vec![]),
    ] {
        // A percent sign is not valid in a short; the tilde replaces it.
        let short = short.replace('%', "~");
        create(&server, &key, &json!({ "target": target, "short": short, "tags": tags }));
    }
    assert_eq!(shorts(&server, &key, "tag=summer"), ["summer-2", "summer-1"]);
    assert_eq!(shorts(&server, &key, "tag=summ"), [""; 0]);
    assert_eq!(shorts(&server, &key, "prefix=winter"), ["winter-1"]);
    assert_eq!(shorts(&server, &key, "prefix=100_"), [""; 0], "no wildcard");
    assert_eq!(shorts(&server, &key, "search=lifts"), ["winter-1", "summer-1"]);
    assert_eq!(shorts(&server, &key, "search=gondola&tag=summer"), ["summer-1"]);
    assert_eq!(shorts(&server, &key, "search=gondola&tag=unused"), [""; 0]);
    for hostile in ["%22", "*", "%22%20OR%20%22", "gondola%20AND", "NEAR(", "'", "%00"] {
        let answer = server.ask("GET", &format!("/api/links?search={hostile}")).bearer(&key);
        assert!(answer.send().status < 500, "{hostile}");
    }
    let edit = json!({ "tags": ["autumn"], "target": "https://example.org/cabins" });
    let path = "/api/links/summer-1";
    server.patch(path).bearer(&key).json(&edit).expect(200);
    assert_eq!(shorts(&server, &key, "tag=summer"), ["summer-2"]);
    assert_eq!(shorts(&server, &key, "tag=autumn&search=cabins"), ["summer-1"]);
    server.delete(path).bearer(&key).expect(204);
    assert_eq!(shorts(&server, &key, "search=cabins"), [""; 0]);
}

#[test]
fn a_caller_sees_and_changes_only_its_own_links() {
    let (lodge, server) = Lodge::new().started();
    let (mine, theirs) = (lodge.key("me"), lodge.key("they"));
    let tags = json!(["private"]);
    create(
        &server,
        &mine,
        &json!({ "target": "https://example.org/mine", "short": "mine", "tags": tags }),
    );
    let other = server.create(&json!({ "target": "example.org", "short": "other" }));

    assert_eq!(shorts(&server, &theirs, ""), [""; 0]);
    assert_eq!(shorts(&server, &theirs, "tag=private"), [""; 0]);
    assert_eq!(shorts(&server, &theirs, "search=mine"), [""; 0]);
    assert_eq!(server.get("/api/links").status, 401);
    let manage_key = other["manage_key"].as_str().unwrap();
    server.ask("GET", "/api/links").bearer(manage_key).expect(401);

    let public = server.get("/api/links/mine").json();
    for hidden in ["tags", "manage_key", "version", "clicks_used"] {
        assert_eq!(public.get(hidden), None, "{hidden}");
    }
    let read = server.ask("GET", "/api/links/mine").bearer(&theirs).send();
    assert_eq!((read.status, read.json()), (200, public), "the public fields");

    let foreign = [theirs.as_str(), manage_key, "manage_x"];
    let edit = json!({ "target": "evil.example" });
    for (method, path) in [
        ("GET", "/api/links/mine/clicks"),
        ("PATCH", "/api/links/mine"),
        ("DELETE", "/api/links/mine"),
    ] {
        let ask = server.ask(method, path);
        let ask = if method == "PATCH" { ask.json(&edit) } else { ask };
        for key in foreign {
            ask.clone().bearer(key).expect(403);
        }
        for key in ["lodge_x", "x", ""] {
            ask.clone().bearer(key).expect(401);
        }
        assert_eq!(ask.send().status, 401, "{method} {path} without a key");
    }
    for key in [manage_key, "manage_x"] {
        server.ask("GET", "/api/links/mine").bearer(key).expect(403);
    }
    assert_eq!(server.get("/mine").location(), Some("https://example.org/mine"));
    server.delete("/api/links/mine").bearer(&mine).expect(204);
}

#[test]
fn link_pages_open_only_to_the_holder_of_the_key() {
    let server = Lodge::new().start();
    let link = server
        .create(&json!({ "target": "https://secret.example/", "short": "mine", "max_clicks": 5 }));
    server.ask("GET", "/links").browser().send().leads_to(303, "/login?next=/links");
    for path in ["/links/mine", "/links/mine/stats"] {
        let page = server.ask("GET", path).browser().send();
        assert!(!page.text().contains("secret.example"), "{path}");
    }
    for (path, form) in
        [("/links/mine", "target=evil.example"), ("/links/mine/delete", "version=1")]
    {
        server.post(path).form(form).expect(403);
    }
    let wrong = server.post("/links/mine/open").form("manage_key=manage_x").send();
    assert_eq!((wrong.status, wrong.header("set-cookie")), (403, None));
    let form = format!("manage_key={}", link["manage_key"].as_str().unwrap());
    let right = server.post("/links/mine/open").form(&form).send();
    right.leads_to(303, "/links/mine");
    let cookie = right.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/;"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    server.ask("GET", "/links/mine").header("Cookie", cookie).send().says("secret.example");
    let api = server.delete("/api/links/mine").header("Cookie", cookie).send();
    assert_eq!(api.status, 401, "cookies are valid for pages only");
}

#[test]
fn a_revoked_key_and_its_session_are_refused_within_a_second() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    create(&server, &key, &json!({ "target": "example.org", "short": "mine" }));
    let signed_in = server.post("/login").form(&format!("api_key={key}")).send();
    signed_in.leads_to(303, "/links");
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = || server.ask("GET", "/links").header("Cookie", &cookie).send().status;
    let api = || server.ask("GET", "/api/links").bearer(&key).send().status;
    assert_eq!((page(), api()), (200, 200));

    lodge.admin(&["key", "revoke", "me"]);
    let began = std::time::Instant::now();
    eventually_true("the key is refused", || api() == 401 && page() == 303);
    assert!(began.elapsed().as_secs_f64() < 1.0, "{:?}", began.elapsed());
    server.delete("/api/links/mine").bearer(&key).expect(401);
    let form = "form=0123456789abcdef&target=example.org";
    let asked = server.post("/links").browser().header("Cookie", &cookie).form(form);
    asked.expect(401).says("You are signed out. Sign in to create");
    assert_eq!(server.get("/mine").status, 307, "its links stay");
    let server = server.restart_after_kill();
    server.ask("GET", "/api/links").bearer(&key).expect(401);
    assert!(lodge.admin(&["key", "list"]).contains("revoked"));
}

#[test]
fn an_accounts_links_are_in_its_export() {
    let (server, [ada, bob]) = Lodge::new().start_with(["ada", "bob"]);
    for (session, short) in [(&ada, "first"), (&bob, "other"), (&ada, "second")] {
        create(&server, session, &json!({ "target": "example.org/a", "short": short }));
    }
    let export = server.ask("GET", "/api/me/export").bearer(&ada).expect(200).json();
    assert_eq!(each(&export["links"], "short"), ["second", "first"]);
    assert_eq!(export["links"][0]["target"], "https://example.org/a");
}
