//! Bad input is refused with the field and the reason, and nothing is stored.

use serde_json::{Value, json};

use crate::{HttpConnection, Lodge, Request, Response, Server};

/// Asserts problem details that name the field and the request, without internals.
fn is_problem(answer: &Response, status: u16, field: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{what}");
    let problem = answer.json();
    assert_eq!(problem["status"], status, "{what}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(field) && !detail.is_empty(), "{what}: {detail}");
    if problem.get("field").is_some() {
        assert_eq!(problem["field"], field, "{what}");
    }
    assert_eq!(problem["request_id"].as_str(), answer.header("x-request-id"), "{what}");
    for internal in ["panick", "sqlite", "rusqlite", "src/", "Error {", "serde", "struct "] {
        assert!(!answer.text().contains(internal), "{what}: {detail}");
    }
}

fn nine_kilobytes() -> String {
    format!("https://example.org/{}", "x".repeat(9 * 1024))
}

/// Invalid targets.
fn bad_targets() -> Vec<String> {
    let mut targets: Vec<String> = [
        "",
        "  ",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "ftp://example.org/",
        "mailto:a@example.org",
        "blob:https://example.org/x",
        "https://",
        "https://exa mple.org/",
        "https://./",
        "https//example.org/",
        "https://example..org/",
        "https://example.org:99999/",
        "https://example.org/\r\nSet-Cookie: a=b",
        "https://example.org/\u{0}",
        "https://example.org/\tx",
        "https://example.org/\u{7f}",
        "https://example.org/\u{85}",
        "https://example.org/%0d%0aSet-Cookie:%20a=b",
        "https://example.org/%00",
        "https://exam%0aple.org/",
    ]
    .map(str::to_owned)
    .into();
    targets.push(nine_kilobytes());
    targets.push(format!("https://example.org/{}", "ü".repeat(3 * 1024)));
    targets
}

/// Invalid shorts.
fn bad_shorts() -> Vec<String> {
    let mut shorts: Vec<String> = [
        "",
        "a/b",
        "/",
        "a b",
        "a+",
        "a%2Fb",
        "..",
        ".a",
        "a.",
        "ü",
        "a\r\nb",
        "a\0",
        "a?b",
        "a#b",
        "api",
        "API",
        "Login",
        "links",
        "1inks",
        "L0GIN",
        "adrnin",
        "nevv",
        "robots.txt",
        "favicon.ico",
        ".well-known",
        "metrics",
        "board",
        "skiers",
        "аdmin",
    ]
    .map(str::to_owned)
    .into();
    shorts.push("a".repeat(300));
    shorts
}

fn create(server: &Server, link: &Value) -> Response {
    server.post("/api/links").json(link).send()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

#[test]
fn a_bad_target_or_short_is_refused_by_the_api_and_nothing_is_stored() {
    let server = Lodge::new().start();
    for target in bad_targets() {
        is_problem(&create(&server, &json!({ "target": target })), 400, "target", &target);
    }
    for short in bad_shorts() {
        let answer = create(&server, &json!({ "target": "example.org", "short": short }));
        is_problem(&answer, 400, "short", &short);
    }
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn a_bad_target_or_short_is_refused_by_put_and_nothing_is_stored() {
    let server = Lodge::new().start();
    let put = |query: &str| server.put(&format!("/?{query}")).send();
    for target in bad_targets() {
        is_problem(&put(&format!("short=gg&long={}", encoded(&target))), 400, "long", &target);
    }
    for short in bad_shorts() {
        let answer = put(&format!("short={}&long=example.org", encoded(&short)));
        is_problem(&answer, 400, "short", &short);
    }
    for (query, field) in [
        ("", "short"),
        ("short=gg", "long"),
        ("long=example.org", "short"),
        ("short=a&short=b&long=example.org", "short"),
        ("short=a&long=example.org&long=example.com", "long"),
        ("short=a&long=example.org&colour=red", "query"),
        ("short=%ff&long=example.org", "short"),
        ("short=gg&long=https://example.org/%ff%fe%0d", "long"),
        ("short=gg&long=%ff%fe", "long"),
        ("short=a/b&long=example.org", "short"),
        ("short=&long=example.org", "short"),
        ("short=gg&long=", "long"),
    ] {
        is_problem(&put(query), 400, field, query);
    }
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn bad_values_of_the_other_fields_are_refused_by_name() {
    let (lodge, server) = Lodge::new().started();
    let many: Vec<String> = (0..21).map(|tag| format!("t{tag}")).collect();
    for (field, value) in [
        ("redirect", json!(200)),
        ("redirect", json!(303)),
        ("expires_at", json!("tomorrow")),
        ("expires_at", json!("2001-01-01T00:00:00Z")),
        ("max_clicks", json!(0)),
        ("max_clicks", json!(1_000_000_001_u64)),
        ("password", json!("")),
        ("password", json!("x".repeat(129))),
        ("tags", json!(["a,b"])),
        ("tags", json!([""])),
        ("tags", json!(["x".repeat(51)])),
        ("tags", json!(many)),
    ] {
        let mut link = json!({ "target": "example.org" });
        link[field] = value.clone();
        is_problem(&create(&server, &link), 400, field, &format!("{field} {value}"));
    }
    assert_eq!(server.links_stored(), 0);
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let key = link["manage_key"].as_str().unwrap();
    for (field, value) in [
        ("target", json!("javascript:x")),
        ("redirect", json!(200)),
        ("max_clicks", json!(0)),
        ("expires_at", json!("2001-01-01T00:00:00Z")),
        ("tags", json!([""])),
    ] {
        let answer = server.manage(&link, "PATCH").json(json!({ field: value })).send();
        is_problem(&answer, 400, field, field);
    }
    server.get("/gg").leads_to(307, "https://example.org/");
    for (path, field) in [
        ("/api/links/gg/clicks?by=week", "by"),
        ("/api/links/gg/clicks?since=yesterday", "since"),
        ("/api/links/gg/clicks?colour=red", "query"),
    ] {
        is_problem(&server.ask("GET", path).bearer(key).send(), 400, field, path);
    }
    let key = lodge.key("me");
    for (field, query) in
        [("limit", "limit=many"), ("after", "after=nonsense"), ("query", "colour=red")]
    {
        let answer = server.ask("GET", &format!("/api/links?{query}")).bearer(&key).send();
        is_problem(&answer, 400, field, query);
    }
}

#[test]
fn malformed_or_unexpected_json_is_refused() {
    let server = Lodge::new().start();
    let post = |path: &str, kind: &str, body: &[u8]| {
        server.post(path).header("Content-Type", kind).body(body).send()
    };
    let deep = "[".repeat(100_000);
    for (field, body) in [
        ("body", &b"{"[..]),
        ("body", b""),
        ("body", b"null"),
        ("body", b"[]"),
        ("body", b"5"),
        ("body", b"\"target\""),
        ("target", b"{\"target\": 1}"),
        ("target", b"{\"target\": null}"),
        ("target", b"{\"target\": [\"example.org\"]}"),
        ("max_clicks", b"{\"target\": \"example.org\", \"max_clicks\": \"5\"}"),
        ("max_clicks", b"{\"target\": \"example.org\", \"max_clicks\": -1}"),
        ("tags", b"{\"target\": \"example.org\", \"tags\": \"a\"}"),
        ("colour", b"{\"target\": \"example.org\", \"colour\": \"red\"}"),
        ("target", b"{\"target\": \"example.org\", \"target\": \"example.com\"}"),
        ("target", b"{}"),
        ("body", b"{\"target\": \"example.org\"} trailing"),
        ("body", b"{\"target\": \"\xff\xfe\"}"),
        ("body", b"{\"target\": \"\\ud800\"}"),
        ("body", deep.as_bytes()),
    ] {
        let what = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        is_problem(&post("/api/links", "application/json", body), 400, field, &what);
    }
    let link = b"{\"target\": \"example.org\"}";
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"] {
        is_problem(&post("/api/links", kind, link), 415, "application/json", kind);
    }
    let many = json!({ "links": vec![json!({ "target": "example.org" }); 1001] }).to_string();
    for body in [&b"{\"links\": []}"[..], many.as_bytes()] {
        is_problem(&post("/api/bulk/links", "application/json", body), 400, "links", "bulk");
    }
    let large = vec![b' '; 200 * 1024];
    is_problem(&post("/api/links", "application/json", &large), 413, "body", "200 KiB");
    assert_eq!(server.links_stored(), 0);
    assert_eq!(post("/api/links", "application/json; charset=utf-8", link).status, 201);
}

#[test]
fn a_link_to_itself_is_refused() {
    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    let here = server.address;
    for target in [
        "https://go.example/gg".to_owned(),
        "http://go.example:443/gg".to_owned(),
        "https://GO.example./%67g?x#y".to_owned(),
        format!("http://{here}/gg"),
        format!("{here}/other"),
    ] {
        // A target without a scheme becomes https, but names this server's host and port all the same.
        is_problem(&create(&server, &json!({ "target": target })), 400, "target", &target);
        let put = server.put(&format!("/?short=gg&long={target}")).send();
        is_problem(&put, 400, "long", &target);
    }
    let link = server.create(&json!({ "target": "https://go.example/", "short": "home" }));
    let edit = json!({ "target": "https://go.example/home" });
    let answer = server.manage(&link, "PATCH").json(edit).send();
    is_problem(&answer, 400, "target", "an edit");
    assert_eq!(server.links_stored(), 1);
}

#[test]
fn a_malformed_http_request_is_refused_and_the_connection_closed() {
    let server = Lodge::new().start();
    for bytes in [
        &b"PUT /?short=gg&long=https://example.org/\x01 HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"PUT /?short=gg&long=https://exam\x00ple.org/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /?short=gg&long=https://example.org/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /?short=gg&long=https://example.org/\nX: y HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /?short=gg&long=a b HTTP/1.1\r\nHost: x\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello from TLS\r\n\r\n",
        b"POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /api/links HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    ] {
        let what = String::from_utf8_lossy(bytes).into_owned();
        let mut wire = server.send_raw(bytes);
        wire.finish();
        // The server may close without a response; a response must be a refusal.
        if let Ok(answer) = wire.read() {
            assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
        }
    }
    let head = "X".repeat(300 * 1024);
    let mut wire = HttpConnection::connect(server.address).unwrap();
    let _ = wire.write(format!("GET / HTTP/1.1\r\nHost: x\r\nX-Large: {head}\r\n\r\n").as_bytes());
    if let Ok(answer) = wire.read() {
        assert_eq!(answer.status, 431, "{answer:?}");
    }
    assert_eq!(server.links_stored(), 0);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn an_http_1_1_request_has_exactly_one_host() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "https://example.org/", "short": "gg" }));
    for (head, status) in [
        ("GET /gg HTTP/1.1\r\n", 400),
        ("GET /gg HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400),
        ("GET /gg HTTP/1.1\r\nHost: a\r\nhost: a\r\n", 400),
        ("POST /api/links HTTP/1.1\r\nContent-Length: 0\r\n", 400),
        ("GET /gg HTTP/1.1\r\nHost: a\r\n", 307),
        ("GET /gg HTTP/1.0\r\n", 307),
    ] {
        let mut wire = server.send_raw(format!("{head}Connection: close\r\n\r\n").as_bytes());
        let answer = wire.read().unwrap();
        assert_eq!(answer.status, status, "{head:?}: {answer:?}");
        assert!(status != 400 || answer.text().contains("exactly once"), "{head:?}: {answer:?}");
    }
}

#[test]
fn a_body_ends_where_its_transfer_encoding_says_whatever_its_content_length() {
    let server = Lodge::new().start();
    let (encoding, body) = ("Transfer-Encoding: chunked\r\n", r#"{"target":"example.org"}"#);
    for length in ["Content-Length: 0\r\n", "Content-Length: 24\r\n", "Content-Length: 200\r\n"] {
        for framing in [format!("{encoding}{length}"), format!("{length}{encoding}")] {
            let head = "POST /api/links HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
            let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            let next = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
            let mut wire = server.send_raw(format!("{head}{framing}\r\n{chunks}{next}").as_bytes());
            assert_eq!(wire.read().unwrap().status, 201, "{framing}");
            // The connection may end, as RFC 9112 (section 6.1) asks for; no byte of the body begins a request.
            let next = wire.read().map(|answer| answer.status);
            assert!(matches!(next, Ok(404) | Err(_)), "{framing}: {next:?}");
        }
    }
}

#[test]
fn unknown_paths_and_methods_are_answered_in_the_callers_format() {
    let server = Lodge::new().start();
    for path in [
        "/unknown",
        "/unknown+",
        "/a/b/c",
        "/api/nope",
        "/api/links/unknown",
        "/assets/x",
        "/%ff",
        "/links/%ff",
        "/api/links/%ff",
        "/links/unknown/stats",
        "/%2e%2e",
        "/a%2fb",
    ] {
        is_problem(&server.get(path), 404, "there is no", path);
    }
    for (method, path) in [
        ("DELETE", "/gg"),
        ("POST", "/"),
        ("PUT", "/api/links"),
        ("PATCH", "/links"),
        ("BREW", "/"),
    ] {
        let answer = server.ask(method, path).send();
        is_problem(&answer, 405, "does not support this method", &format!("{method} {path}"));
        assert!(answer.header("allow").is_some_and(|methods| !methods.is_empty()), "{method}");
    }
}

#[test]
fn a_browser_gets_an_error_page() {
    let server = Lodge::new().start();
    for (method, path, form, status) in [
        ("GET", "/unknown", "", 404),
        ("GET", "/%ff", "", 404),
        ("GET", "/a/b/c", "", 404),
        ("DELETE", "/gg", "", 405),
        ("PUT", "/?short=gg&long=javascript:x", "", 400),
        ("POST", "/links", "colour=red", 400),
        ("POST", "/login", "nonsense", 400),
    ] {
        let answer = server.ask(method, path).browser().form(form).expect(status);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let (page, id) = (answer.text(), answer.header("x-request-id").unwrap());
        assert!(page.starts_with("<!doctype html>") && page.contains(id), "{page}");
        for internal in ["panic", "sqlite", "src/", "Error {", "serde", "problem+json"] {
            assert!(!page.contains(internal), "{internal}: {page}");
        }
    }
    // The form is shown again with the typed values and the errors.
    for (form, typed) in [
        ("target=javascript:alert(1)&short=a/b", "javascript:alert(1)"),
        ("target=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "&#34;&#62;&#60;script"),
    ] {
        let answer = server.post("/links").browser().form(form).expect(400);
        answer.says(typed);
        assert!(!answer.text().contains("<script>alert"), "{}", answer.text());
    }
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn hostile_queries_and_cookies_are_answered_with_pages() {
    let (lodge, server) = Lodge::new().started();
    let key = lodge.key("me");
    let signed_in = server.post("/login").form(&format!("api_key={key}")).send();
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for path in ["/links?after=nonsense", "/links?search=%ff%22*", "/links?x=y", "/new?target=%ff"]
    {
        let answer = server.ask("GET", path).browser().header("Cookie", &cookie).send();
        assert!(matches!(answer.status, 200 | 400), "{path}: {answer:?}");
        assert!(answer.text().starts_with("<!doctype html>"), "{path}: {}", answer.text());
    }
    let refused = server.ask("GET", "/links?search=1+2+3+4+5+6+7+8+9").browser();
    let page = refused.header("Cookie", &cookie).expect(400).text();
    assert!(page.contains("value=\"1 2 3 4 5 6 7 8 9\"") && page.contains("words"), "{page}");
    for cookie in ["lodge_session=1.9999999999.x", "lodge_session=\"", "lodge_manage_gg=manage_x"] {
        server
            .ask("GET", "/links")
            .browser()
            .header("Cookie", cookie)
            .send()
            .leads_to(303, "/login?next=/links");
    }
    let page = server.get("/new?target=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(!page.text().contains("<script>alert"), "{}", page.text());
}

#[test]
fn a_clients_host_header_is_never_shown_unescaped() {
    let server = Lodge::new().start();
    let ask =
        Request::new(server.address, "GET", "/").header("Host", "\"><script>x</script>").send();
    assert!(ask.status == 400 || !ask.text().contains("<script>x"), "{}", ask.text());
}
