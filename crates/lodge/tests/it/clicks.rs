//! Every redirect is counted once.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{HttpConnection, Lodge, Request, eventually_true};

const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148";
const DESKTOP: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0 Safari/537.36";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1)";

/// Device, referrer and count; of a referrer only the host is stored, not its path and port.
const VISITS: [(&str, &str, u64); 5] = [
    (PHONE, "https://news.example/a?secret=1", 40),
    (PHONE, "", 7),
    (DESKTOP, "https://news.example:8443/b", 30),
    (DESKTOP, "http://blog.example/", 11),
    (BOT, "http://blog.example/", 5),
];

#[test]
fn after_a_clean_stop_clicks_equal_the_redirects_served() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let limited =
        server.create(&json!({ "target": "example.org", "short": "few", "max_clicks": 9 }));
    let locked =
        server.create(&json!({ "target": "example.org", "short": "locked", "password": "x" }));
    thread::scope(|scope| {
        for (device, referrer, count) in VISITS {
            let address = server.address;
            scope.spawn(move || visit(address, device, referrer, count));
        }
    });
    for _ in 0..12 {
        server.get("/few");
    }
    server.post("/locked").form("password=y").expect(403);
    server.post("/locked").form("password=x").expect(303);
    assert_eq!(server.stop(), Some(0));

    let server = lodge.start();
    let devices = server.clicks(&link, "device");
    assert_eq!((devices["total"].as_u64(), devices["bots"].as_u64()), (Some(88), Some(5)));
    assert_eq!(lines(&devices), [("mobile", 47), ("desktop", 41), ("bot", 5)]);
    let referrers = server.clicks(&link, "referrer");
    assert_eq!(lines(&referrers), [("news.example", 70), ("blog.example", 11)]);
    for by in ["day", "hour"] {
        let report = server.clicks(&link, by);
        let sum: u64 = lines(&report).iter().map(|(_, clicks)| clicks).sum();
        assert_eq!(sum, 88, "{report}");
    }
    assert_eq!(server.clicks(&limited, "day")["total"], 9);
    assert_eq!(server.clicks(&locked, "day")["total"], 1);
}

#[test]
fn redirects_during_a_stop_are_counted() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    let redirects = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            let (address, redirects) = (server.address, &redirects);
            scope.spawn(move || follow_until_it_stops(address, redirects));
        }
        eventually_true("redirects are served", || redirects.load(Ordering::Relaxed) > 500);
        server.signal(Signal::TERM);
    });
    assert_eq!(server.wait(), Some(0));
    assert_eq!(lodge.start().clicks(&link, "day")["total"].as_u64(), Some(redirects.into_inner()));
}

#[test]
fn at_most_a_second_of_clicks_is_lost_by_a_crash() {
    let (lodge, server) = Lodge::new().started();
    let link = server.create(&json!({ "target": "example.org", "short": "gg" }));
    visit(server.address, PHONE, "", 20);
    // A plain sleep, because the promise is about time: a wait until the clicks are stored would never
    // fail. Twice as long as promised, for a busy machine.
    thread::sleep(Duration::from_secs(2));
    server.kill();
    assert_eq!(lodge.start().clicks(&link, "day")["total"], 20);
}

fn visit(address: SocketAddr, device: &str, referrer: &str, count: u64) {
    let mut wire = HttpConnection::connect(address).unwrap();
    let mut ask = Request::new(address, "GET", "/gg").header("User-Agent", device);
    if !referrer.is_empty() {
        ask = ask.header("Referer", referrer);
    }
    for _ in 0..count {
        assert_eq!(ask.on(&mut wire).unwrap().status, 307);
    }
}

fn follow_until_it_stops(address: SocketAddr, served: &AtomicU64) {
    let ask = Request::new(address, "GET", "/gg");
    let Ok(mut wire) = HttpConnection::connect(address) else { return };
    while ask.on(&mut wire).is_ok_and(|answer| answer.status == 307) {
        served.fetch_add(1, Ordering::Relaxed);
    }
}

fn lines(report: &Value) -> Vec<(&str, u64)> {
    let lines = report["lines"].as_array().unwrap().iter();
    lines.map(|line| (line["key"].as_str().unwrap(), line["clicks"].as_u64().unwrap())).collect()
}
