//! Headers and content that every page and response must, or must not, have.

use serde_json::json;

use crate::{Lodge, Response, Server, between};

fn everything(server: &Server) -> Vec<(String, Response)> {
    let paths = [
        "/",
        "/new",
        "/login",
        "/api/docs",
        "/api/openapi.json",
        "/robots.txt",
        "/favicon.ico",
        "/gg+",
        "/links/gg",
        "/links/gg/qr",
        "/links/gg/stats",
        "/api/links/gg",
        "/api/links/gg/qr.svg",
        "/unknown",
        "/api/nope",
        "/door",
    ];
    let answers = paths.iter().flat_map(|path| {
        let page = server.ask("GET", path).browser().send();
        [((*path).to_owned(), server.get(path)), (format!("{path} as a page"), page)]
    });
    answers.collect()
}

#[test]
fn every_answer_has_security_headers() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    server.create(&json!({ "target": "example.org", "short": "door", "password": "x" }));
    for (path, answer) in everything(&server) {
        let policy = answer.header("content-security-policy").unwrap_or_else(|| panic!("{path}"));
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("strict-transport-security"), None, "there is no TLS here");
        for telling in ["server", "x-powered-by", "via"] {
            assert_eq!(answer.header(telling), None, "{path}");
        }
        assert_eq!(answer.header("x-request-id").map(str::len), Some(16), "{path}");
    }
}

#[test]
fn a_site_on_tls_sends_hsts_and_secure_cookies() {
    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    let hsts = |server: &Server| {
        server.get("/").header("strict-transport-security").map(ToOwned::to_owned)
    };
    assert_eq!(hsts(&server).as_deref(), Some("max-age=31536000"));
    let made = server.post("/links").form("target=example.org&short=gg").send();
    let cookies: Vec<_> = made.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    assert_eq!(cookies.len(), 2, "{made:?}");
    for (_, cookie) in cookies {
        let is_secure = cookie.starts_with("__Host-lodge_") && cookie.ends_with("; Secure");
        assert!(is_secure, "{cookie}");
    }
    let wide = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example");
    let wide = wide.with("LODGE_HTTP_HSTS_SUBDOMAINS", "true").start();
    assert_eq!(hsts(&wide).as_deref(), Some("max-age=31536000; includeSubDomains"));
}

#[test]
fn pages_load_nothing_from_third_parties_and_are_small() {
    let server = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example").start();
    server.create(&json!({ "target": "https://elsewhere.example/x", "short": "gg" }));
    for (path, answer) in everything(&server) {
        if answer.header("content-type") != Some("text/html; charset=utf-8") {
            continue;
        }
        let page = answer.text();
        let (mut bytes, mut loaded) = (answer.body.len(), 0);
        for (mark, end) in [("src=\"", '"'), ("<link rel=\"stylesheet\" href=\"", '"')] {
            for source in page.split(mark).skip(1).filter_map(|part| part.split(end).next()) {
                assert!(source.starts_with("/assets/"), "{path}: {source}");
                let file = server.get(source).expect(200);
                let kept = file.header("cache-control");
                assert_eq!(kept, Some("public, max-age=31536000, immutable"), "{source}");
                (bytes, loaded) = (bytes + file.body.len(), loaded + 1);
            }
        }
        assert!(loaded >= 2, "{path} has a style and a script");
        // The documentation of all routes may be larger.
        let most = if path.starts_with("/api/docs") { 190_000 } else { 55_000 };
        assert!(bytes < most, "{path} has {bytes} bytes");
    }
}

#[test]
fn a_link_is_created_changed_and_deleted_by_forms() {
    let server = Lodge::new().start();
    let made = server.post("/links").form("target=example.org&short=gg&tags=a,b").send();
    made.leads_to(303, "/links/gg");
    let cookie = made.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let with_key = |method: &str, path: &str| server.ask(method, path).header("Cookie", &cookie);
    with_key("GET", "/links/gg").expect(200).says("example.org");
    with_key("GET", "/links/gg/stats").expect(200);
    with_key("POST", "/links/gg")
        .form("target=example.com&tags=&version=1")
        .send()
        .leads_to(303, "/links/gg");
    assert_eq!(server.get("/gg").location(), Some("https://example.com/"));
    let late = with_key("POST", "/links/gg").form("target=example.net&version=1").send();
    assert_eq!(late.status, 412, "the version is out of date");
    with_key("POST", "/links/gg/delete").form("version=2").expect(200);
    assert_eq!(server.get("/gg").status, 410);
}

#[test]
fn a_notice_and_a_new_manage_key_are_shown_to_their_creator_for_a_short_time() {
    let server = Lodge::new().start();
    let made = server.post("/links").form("target=example.org&short=gg").send();
    let [manage, created]: [String; 2] = cookies_of(&made).try_into().unwrap();
    assert!(created.contains("; Path=/; Max-Age=600; HttpOnly; SameSite=Strict"), "{created}");
    let page = |cookies: &[&String]| {
        let cookies: Vec<_> = cookies.iter().map(|cookie| pair(cookie)).collect();
        let page = server.ask("GET", "/links/gg").browser();
        page.header("Cookie", &cookies.join("; ")).expect(200)
    };
    let shows = |page: &Response| {
        ["Your link is ready.", "<code>manage_", "Saved."].map(|text| page.text().contains(text))
    };
    let first = page(&[&manage, &created]);
    assert_eq!(shows(&first), [true, true, false]);
    let [seen]: [String; 1] = cookies_of(&first).try_into().unwrap();
    let again = page(&[&manage, &seen]);
    assert_eq!(
        (shows(&again), cookies_of(&again).len()),
        ([false, true, false], 0),
        "the key only"
    );
    assert_eq!(shows(&page(&[&manage])), [false; 3], "later");
    assert_eq!(shows(&page(&[&created])), [false; 3], "without the cookie of the key");

    let save = |cookies: &str, form: &str| {
        let ask = server.post("/links/gg").browser().header("Cookie", cookies);
        let saved = ask.form(form).send();
        saved.leads_to(303, "/links/gg");
        <[String; 2]>::try_from(cookies_of(&saved)).unwrap()
    };
    let both = format!("{}; {}", pair(&manage), pair(&seen));
    let [manage, saved] = save(&both, "target=example.com&version=1");
    assert_eq!(shows(&page(&[&manage, &saved])), [false, true, true], "the key is still new");
    let [manage, saved] = save(pair(&manage), "target=example.net&version=2");
    let first = page(&[&manage, &saved]);
    assert_eq!(shows(&first), [false, false, true]);
    assert!(cookies_of(&first)[0].contains("; Max-Age=0;"), "the notice ends: {first:?}");
    let renew = "target=example.com&version=3&new_manage_key=on";
    let [manage, renewed] = save(pair(&manage), renew);
    assert_eq!(shows(&page(&[&manage, &renewed])), [false, true, true]);
}

/// Returns the name and value of a cookie.
fn pair(cookie: &str) -> &str {
    cookie.split(';').next().unwrap()
}

/// Returns the cookies that a response sets.
fn cookies_of(response: &Response) -> Vec<String> {
    let all = response.headers.iter().filter(|(name, _)| name == "set-cookie");
    all.map(|(_, value)| value.clone()).collect()
}

#[test]
fn a_link_form_sent_twice_creates_one_link() {
    let server = Lodge::new().start();
    let page = server.get("/new").text();
    let id = between(&page, "name=\"form\" value=\"", "\"").unwrap();
    let form = format!("target=example.org&form={id}");
    let first = server.post("/links").form(&form).send();
    let second = server.post("/links").form(&form).send();
    assert_eq!((first.status, first.location()), (303, second.location()));
    assert_eq!(server.links_stored(), 1);
}
