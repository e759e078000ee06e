//! Redirects: status codes, caching by browsers, and `HEAD`.

use serde_json::json;

use crate::{Lodge, Response};

const CODES: [u16; 4] = [301, 302, 307, 308];

#[test]
fn a_link_redirects_with_its_own_code_and_is_not_cached_by_browsers() {
    let server = Lodge::new().start();
    for code in CODES {
        let short = format!("r{code}");
        server.create(&json!({ "target": "example.org", "short": short, "redirect": code }));
    }
    let server = server.restart_after_kill();
    for code in CODES {
        // From the store, then from the cache.
        for _ in 0..2 {
            let answer = server.get(&format!("/r{code}"));
            assert_eq!(answer.leads(), (code, Some("https://example.org/")));
            assert_eq!(answer.header("cache-control"), Some("private, no-store"));
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert!(answer.header("x-request-id").is_some());
            assert!(answer.body.is_empty());
        }
    }
}

#[test]
fn head_answers_like_get_and_counts_no_click() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "gg", "redirect": 302 }));
    let says = |answer: &Response| {
        let mut names: Vec<String> = answer
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "date" | "x-request-id"))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        names.sort_unstable();
        (answer.status, names)
    };
    let head = server.ask("HEAD", "/gg").send();
    head.leads_to(302, "https://example.org/");
    for _ in 0..10 {
        server.ask("HEAD", "/gg").expect(302);
    }
    server.get("/gg+");
    server.get("/api/links/gg");
    let get = server.get("/gg");
    for header in ["location", "cache-control"] {
        assert_eq!(head.header(header), get.header(header), "{:?} {:?}", says(&head), says(&get));
    }
    assert_eq!(server.ask("HEAD", "/unknown").send().status, server.get("/unknown").status);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(lodge.start().clicks(&link, "day")["total"], 1, "the one GET");
}

#[test]
fn the_preview_shows_the_target_without_redirecting() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "https://example.org/a?b=c", "short": "gg" }));
    let preview = server.get("/gg+");
    assert_eq!((preview.status, preview.location()), (200, None));
    preview.says("example.org");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(lodge.start().clicks(&link, "day")["total"], 0);
}

#[test]
fn the_location_is_the_normalised_ascii_form() {
    let server = Lodge::new().start();
    for (given, location) in [
        ("http://bücher.example/straße?q=ü", "http://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC"),
        ("HTTPS://EXAMPLE.org:443/A/../B", "https://example.org/B"),
        ("localhost:8080/x", "https://localhost:8080/x"),
        ("example.org:8443", "https://example.org:8443/"),
        ("//example.org/x", "https://example.org/x"),
        (
            "https://example.org/?next=javascript:x#frag",
            "https://example.org/?next=javascript:x#frag",
        ),
    ] {
        let link = server.create(&json!({ "target": given }));
        assert_eq!(link["target"], location);
        let short = link["short"].as_str().unwrap();
        assert_eq!(server.get(&format!("/{short}")).location(), Some(location), "{given}");
    }
}
