//! Another site's page cannot make a visitor's browser change anything here.

use serde_json::json;

use crate::{client::Ask, server::Lodge};

#[test]
fn what_another_sites_page_sends_is_refused_and_nothing_is_stored() {
    let lodge = Lodge::new();
    let server = lodge.start();
    let link = json!({ "target": "example.org" });
    let requests: [Ask; 6] = [
        server.ask("PUT", "/?short=gg&long=example.org"),
        server.ask("POST", "/api/links").json(&link),
        server.ask("POST", "/api/bulk/links").json(&json!({ "links": [link] })),
        server.ask("POST", "/links").form("target=example.org"),
        server.ask("POST", "/login").form("api_key=x"),
        server.ask("POST", "/logout").form(""),
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
            let answer = request.clone().header(name, value).send();
            assert_eq!(answer.status, 403, "{request:?} {name}: {value}");
            assert_eq!(answer.header("set-cookie"), None);
        }
    }
    assert_eq!(server.links_stored(), 0);
}

#[test]
fn our_own_pages_and_programs_may_and_everybody_may_read() {
    let lodge = Lodge::new();
    let server = lodge.start();
    let form =
        |short: &str| server.ask("POST", "/links").form(&format!("target=a.b&short={short}"));
    let origin = format!("http://{}", server.address);
    let own = form("a").header("Origin", &origin).header("Sec-Fetch-Site", "same-origin").send();
    assert_eq!(own.leads(), (303, Some("/links/a")));
    assert_eq!(form("b").header("Origin", &origin).send().status, 303);
    assert_eq!(form("c").header("Sec-Fetch-Site", "none").send().status, 303);
    assert_eq!(form("d").send().status, 303);
    let read = server.ask("GET", "/a").header("Sec-Fetch-Site", "cross-site").send();
    assert_eq!(read.status, 307);
}

#[test]
fn another_site_may_not_read_the_api_through_a_visitors_browser() {
    let lodge = Lodge::new();
    let server = lodge.start();
    for method in ["GET", "OPTIONS"] {
        let ask = server.ask(method, "/api/links").header("Origin", "https://evil.example");
        let answer = ask.header("Access-Control-Request-Method", "POST").send();
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method}");
    }
}
