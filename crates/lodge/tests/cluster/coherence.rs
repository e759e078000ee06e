//! Coherence: every process gives the same responses.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    client::{Request, Response},
    server::{Lodge, Server},
    testbed::{cluster, fresh, process_on, webs},
};

fn get(web: SocketAddr, short: &str) -> Response {
    Request::new(web, "GET", &format!("/{short}")).send()
}

/// Waits for a condition, at most one second: a change must be visible within one second of its acknowledgement.
fn within_a_second(assert_fields: impl Fn() -> bool) {
    let began = Instant::now();
    while !assert_fields() {
        assert!(began.elapsed() < Duration::from_secs(1), "not visible within one second");
    }
}

#[test]
fn a_link_made_on_one_process_leads_on_every_other_once_acknowledged() {
    let webs = webs(&cluster());
    for (turn, maker) in webs.iter().enumerate() {
        for _ in 0..10 {
            let short = fresh("made");
            let put = format!("/?short={short}&long=example.org/{turn}");
            Request::new(*maker, "PUT", &put).expect(201);
            let target = format!("https://example.org/{turn}");
            for web in &webs {
                assert_eq!(get(*web, &short).leads(), (307, Some(target.as_str())), "{web}");
            }
        }
    }
}

#[test]
fn an_edit_and_a_deletion_reach_every_other_process_within_a_second() {
    // Use processes of this build, not the cluster's own.
    let cluster = cluster();
    let lodges: Vec<Lodge> = (0..3).map(|_| process_on(&cluster)).collect();
    let servers: Vec<Server> = lodges.iter().map(Lodge::start).collect();
    let short = fresh("edited");
    let link = servers[0].create(&json!({ "target": "example.org", "short": short }));
    let path = format!("/{short}");
    for (turn, editor) in servers.iter().enumerate() {
        let target = format!("https://example.org/{turn}");
        editor.manage(&link, "PATCH").json(json!({ "target": target })).expect(200);
        for web in &servers {
            within_a_second(|| web.get(&path).leads() == (307, Some(target.as_str())));
        }
    }
    let delete = servers[1].manage(&link, "DELETE").send();
    assert!((200..300).contains(&delete.status), "{delete:?}");
    for web in &servers {
        within_a_second(|| web.get(&path).status == 410);
    }
}

#[test]
fn a_write_retried_on_another_process_gets_the_original_response() {
    let webs = webs(&cluster());
    let key = fresh("key");
    let link = json!({ "target": "example.org" });
    let make = |web: SocketAddr| {
        Request::new(web, "POST", "/api/links").idempotency_key(&key).json(&link).send()
    };
    let first = make(webs[0]).expect(201);
    for web in &webs {
        let again = make(*web);
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "{web}");
        assert_eq!(again.json()["short"], first.json()["short"], "{web}");
        assert_eq!(again.json()["manage_key"], first.json()["manage_key"], "{web}");
    }
}

#[test]
fn a_click_limit_holds_across_processes() {
    let webs = webs(&cluster());
    let short = fresh("few");
    let link = json!({ "target": "example.org", "short": short, "max_clicks": 5 });
    Request::new(webs[0], "POST", "/api/links").json(&link).expect(201);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..30)
            .map(|turn| {
                let (web, short) = (webs[turn % webs.len()], &short);
                scope.spawn(move || get(web, short).status)
            })
            .collect();
        askers.into_iter().map(|asker| asker.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    let (led, refused, unknown) = (count(307), count(410), count(503));
    assert_eq!(led + refused + unknown, 30, "{statuses:?}");
    // A request that timed out may have used a click or not.
    let more = (0..30).map(|_| get(webs[0], &short).status).take_while(|status| *status != 410);
    let led = led + more.filter(|status| *status == 307).count();
    assert!(led <= 5 && led + unknown >= 5, "{led} of 5: {statuses:?}");
}
