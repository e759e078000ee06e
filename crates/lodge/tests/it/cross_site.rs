//! A page of another site cannot make a visitor's browser change anything on this site.

use serde_json::json;

use crate::{Lodge, Request};

#[test]
fn cross_site_writes_are_refused_and_nothing_is_stored() {
    let server = Lodge::new().start();
    let link = json!({ "target": "example.org" });
    let requests: [Request; 6] = [
        server.put("/?short=gg&long=example.org"),
        server.post("/api/links").json(&link),
        server.post("/api/bulk/links").json(json!({ "links": [link] })),
        server.post("/links").form("target=example.org"),
        server.post("/login").form("api_key=x"),
        server.post("/logout").form(""),
    ];
    let foreign = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
    ];
    for request in &requests {
        for (name, value) in foreign {
            assert_eq!(request.clone().header(name, value).expect(403).header("set-cookie"), None);
        }
    }
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn same_site_pages_and_programs_may_write_and_all_sites_may_follow_links() {
    let server = Lodge::new().start();
    let form = |short: &str| server.post("/links").form(&format!("target=a.b&short={short}"));
    let origin = format!("http://{}", server.address);
    form("a")
        .header("Origin", &origin)
        .header("Sec-Fetch-Site", "same-origin")
        .send()
        .leads_to(303, "/links/a");
    form("b").header("Origin", &origin).expect(303);
    form("c").header("Sec-Fetch-Site", "none").expect(303);
    form("d").expect(303);
    server.ask("GET", "/a").header("Sec-Fetch-Site", "cross-site").expect(307);
}

#[test]
fn the_api_sends_no_cors_headers_to_other_sites() {
    let server = Lodge::new().start();
    for method in ["GET", "OPTIONS"] {
        let ask = server.ask(method, "/api/links").header("Origin", "https://evil.example");
        let answer = ask.header("Access-Control-Request-Method", "POST").send();
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method}");
    }
}
