//! Metrics, health and logs, which only operators can read.

use serde_json::json;

use crate::{Lodge, Server, eventually_true, tiers::Tiers};

#[test]
fn requests_and_redirects_are_counted_with_their_latency() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    for _ in 0..25 {
        server.get("/gg");
    }
    for path in ["/unlisted", "/unlisted-2", "/api/nope"] {
        server.get(path);
    }
    server.ask("BREW", "/gg").send();
    let text = server.ops("/metrics").text();
    let sum = |name: &str, label: &str| -> f64 {
        let values = text
            .lines()
            .filter(|line| line.starts_with(name) && line.contains(label))
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        values.sum()
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.5, "{text}");
    near(sum("lodge_http_requests_total{method=\"GET\",route=\"/{short}\"", "status=\"3"), 25.0);
    near(sum("lodge_http_requests_total", "status=\"404\""), 3.0);
    near(sum("lodge_http_requests_total", "method=\"other\""), 1.0);
    near(sum("lodge_http_requests_total", "route=\"/api/links\",status=\"201\""), 1.0);
    assert!(sum("lodge_http_request_duration_seconds_count", "/{short}") >= 25.0, "{text}");
    assert!(text.contains("lodge_http_request_duration_seconds_bucket{"), "{text}");
    assert!(!text.contains("unlisted"), "request paths never become labels: {text}");
    eventually_true("clicks are counted as stored", || {
        server.metric("lodge_links_clicks_stored_total") > 24.5
    });
}

#[test]
fn the_public_listener_serves_no_metrics_or_health() {
    let server = Lodge::new().start();
    for path in ["/metrics", "/health/live", "/health/ready", "/health"] {
        assert!(!server.get(path).expect(404).text().contains("lodge_http"), "{path}");
    }
    assert_eq!(server.ops("/metrics").status, 200);
    assert_eq!(server.ops("/health/live").text(), "live\n");
    assert_eq!(server.ops("/health/ready").text(), "ready\n");
    assert_eq!(server.ops("/").status, 404);
}

#[test]
fn a_request_keeps_the_id_that_the_proxy_gave_it() {
    let server = Lodge::new().start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    for path in ["/gg", "/gg", "/gg+", "/unknown", "/api/links/gg"] {
        let answer = server.ask("GET", path).header("X-Request-Id", "from-the-proxy").send();
        assert_eq!(answer.header("x-request-id"), Some("from-the-proxy"), "{path}");
        let answer = server.ask("GET", path).header("X-Request-Id", "<no plain one>").send();
        assert_eq!(answer.header("x-request-id").map(str::len), Some(16), "{path}");
    }
}

#[test]
fn a_request_is_found_in_the_log_by_its_id() {
    let server = Lodge::new().with("LODGE_LOG_REQUESTS", "true").start();
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let own = server.get("/gg").header("x-request-id").unwrap().to_owned();
    let given = server.ask("GET", "/gg").header("X-Request-Id", "from-the-proxy").send();
    assert_eq!(given.header("x-request-id"), Some("from-the-proxy"));
    for id in [own.as_str(), "from-the-proxy"] {
        eventually_true("the request is logged", || server.log().contains(&format!("\"{id}\"")));
    }
}

#[test]
fn the_line_of_a_request_names_the_account_that_sent_it() {
    let (server, [token]) = Lodge::new().with("LODGE_LOG_REQUESTS", "true").start_with(["ada"]);
    let ask = |id| server.ask("GET", "/api/me").header("X-Request-Id", id);
    ask("of-ada").bearer(&token).expect(200);
    ask("of-a-visitor").expect(401);
    for (id, who) in [("of-ada", "account 1"), ("of-a-visitor", "visitor")] {
        let says = |line: &str| [id, who].iter().all(|it| line.contains(&format!("\"{it}\"")));
        eventually_true("the line names it", || server.log().lines().any(says));
    }
}

#[test]
fn each_section_of_an_accounts_request_is_measured() {
    let (_tiers, accounts, web) = Tiers::new().start();
    let token = web.member("ada");
    for _ in 0..10 {
        assert!(web.is_signed_in(&token));
    }
    let asked = web.metric("lodge_accounts_cache_hits_total")
        + web.metric("lodge_accounts_cache_misses_total");
    assert!((9.5..10.5).contains(&asked), "{asked}");
    for (server, section, at_least) in [
        (&web, "lodge_wire_get_connection", 3.0),
        (&web, "lodge_wire_send", 3.0),
        (&web, "lodge_wire_round_trip", 3.0),
        (&web, "lodge_wire_free_connection", 3.0),
        (&web, "lodge_accounts_cache_miss", 1.0),
        (&accounts, "lodge_accounts_store_read", 3.0),
        (&accounts, "lodge_accounts_store_write", 2.0),
        (&accounts, "lodge_accounts_token_update", 1.0),
        // For the sign-up and the sign-in.
        (&accounts, "lodge_passwords_wait", 2.0),
        (&accounts, "lodge_passwords_work", 2.0),
    ] {
        is_measured(server, section, at_least);
    }
    eventually_true("the session is cached", || {
        assert!(web.is_signed_in(&token));
        web.metric("lodge_accounts_cache_hit_seconds_count") > 0.5
    });
    is_measured(&web, "lodge_accounts_cache_hit", 1.0);
}

/// Waits for a histogram in seconds with at least `at_least` observations, which may be recorded after the
/// response, and asserts its description.
fn is_measured(server: &Server, section: &str, at_least: f64) {
    eventually_true(&format!("{at_least} observations of {section}"), || {
        server.metric(&format!("{section}_seconds_count")) >= at_least
    });
    let text = server.ops("/metrics").text();
    for part in ["# HELP ", "# TYPE "] {
        assert!(text.contains(&format!("{part}{section}_seconds")), "{section}: {part}");
    }
    assert!(text.contains(&format!("{section}_seconds_bucket{{")), "{section}");
    let seconds = server.metric(&format!("{section}_seconds_sum"));
    assert!((0.0..60.0).contains(&seconds), "{section}: {seconds}");
}

#[test]
fn ride_events_are_counted_by_outcome_from_zero() {
    let (lodge, server) = Lodge::new().started();
    let counted = || {
        ["stored", "duplicate", "refused"].map(|outcome| {
            let series = format!("lodge_rides_events_total{{outcome=\"{outcome}\"}} ");
            let text = server.ops("/metrics").text();
            text.lines().find_map(|line| line.strip_prefix(&series)?.parse::<u64>().ok())
        })
    };
    assert_eq!(counted(), [Some(0); 3]);
    assert!(server.ops("/metrics").text().contains("\nlodge_rides_limited_total 0\n"));
    let send = |once: &str, lift: u32| {
        let ask = server.post("/skiers/3/seasons/2025/days/1/skiers/7").idempotency_key(once);
        ask.json(json!({ "time": 1, "liftID": lift })).send().status
    };
    assert_eq!([send("a", 1), send("b", 1), send("a", 1)], [201; 3]);
    assert_eq!([send("a", 2), send("c", 99)], [400; 2]);
    lodge.admin(&["ride", "void", "b"]);
    assert_eq!(counted(), [Some(3), Some(1), Some(2)]);
}
